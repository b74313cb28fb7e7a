"""Definitions and validated values of properties, as Kafka Connect shows them (`AbstractHerder.generateResult`)."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eosfw.config import ConfigDef
from eosfw.config.definition.config_def import (
    REQUIRED,
    Boolean,
    Choice,
    Class,
    Double,
    Int,
    Key,
    List,
    Long,
    Password,
    Short,
    Values,
)
from eosfw.config.definition.kinds import PluginClass
from eosfw.errors import Problem, with_class
from eosfw.protocols.herder import ConfigInfo, ConfigInfos

logger = logging.getLogger(__name__)

_TYPES = (
    (Password, "PASSWORD"),
    (Boolean, "BOOLEAN"),
    (Long, "LONG"),
    (Short, "SHORT"),
    (Int, "INT"),
    (Double, "DOUBLE"),
    (List, "LIST"),
    (Class, "CLASS"),
    (PluginClass, "CLASS"),
)
_HIDDEN = "[hidden]"
_NAME = r"([A-Za-z0-9_.-]+)"
_NAMED = (
    re.compile(rf"(?:for configuration |configuration [\"']){_NAME}"),
    re.compile(rf"^[\"']?{_NAME}"),
    re.compile(rf"{_NAME}="),
    re.compile(r"([A-Za-z0-9_-]+\.[A-Za-z0-9_.-]+)"),
)
"""How messages name the property that they are about, the surest way first."""
_FALLBACK = "connector.class"
"""Which property shows a problem whose text names none."""


@dataclass(frozen=True, slots=True)
class Recommendation:
    """What a property's `recommended` and `visible` say to the values of a request."""

    values: tuple[Any, ...] = ()
    visible: bool = True
    error: str | None = None
    """What one of them raised."""


def config_key_infos(definition: ConfigDef) -> list[dict[str, Any]]:
    """All definitions (Connect's `ConfigKeyInfo`)."""
    orders = definition.orders()
    return [_key_info(key, orders[name]) for name, key in definition.keys.items()]


def recommendations(definition: ConfigDef, values: Values) -> dict[str, Recommendation]:
    """What each property recommends, with the parsed values of all of them (`ConfigDef.validate`).

    A function that several properties have is called once: it may ask the source.
    """
    answers: dict[Callable[[Values], Any], Any] = {}
    return {name: _recommendation(key, values, answers) for name, key in definition.keys.items()}


def config_infos(
    name: str,
    definition: ConfigDef,
    given: Mapping[str, str | None],
    problems: Sequence[Problem],
    recommended: Mapping[str, Recommendation] | None = None,
) -> ConfigInfos:
    """The outcome of a validation; a problem belongs to the first property that its text names."""
    errors: dict[str, list[str]] = {}
    for problem in problems:
        errors.setdefault(_property_of(problem.what, definition, given), []).append(problem.what)
    shown = recommendations(definition, {}) if recommended is None else recommended
    for one, recommendation in shown.items():
        if recommendation.error is not None:
            errors.setdefault(one, []).append(recommendation.error)
    for one in _undefined_dependents(definition):
        errors.setdefault(one, []).append(f"{one} is referred in the dependents, but not defined.")
    orders = definition.orders()
    defined = [
        ConfigInfo(_key_info(key, orders[one]), _key_value_info(key, given, errors.get(one, []), shown[one]))
        for one, key in definition.keys.items()
    ]
    extra = [_undefined(one, errors[one]) for one in errors if one not in definition.keys]
    return ConfigInfos(name, sum(map(len, errors.values())), definition.groups(), [*extra, *defined])


def invalid_config_text(infos: ConfigInfos) -> str:
    """The message of a request that is refused for its properties (`AbstractHerder.maybeAddConfigErrors`)."""
    errors = [text for info in infos.configs for text in info.value["errors"]]
    return (
        f"Connector configuration is invalid and contains the following {infos.error_count} error(s):\n"
        + "\n".join(errors)
        + "\nYou can also find the above list of errors at the endpoint "
        "`/connector-plugins/{connectorType}/config/validate`"
    )


def _key_info(key: Key, order: int) -> dict[str, Any]:
    required = key.default is REQUIRED
    return {
        "name": key.name,
        "type": next((name for kind, name in _TYPES if isinstance(key, kind)), "STRING"),
        "required": required,
        "default_value": None if required else _text(key, key.default),
        "importance": key.importance or ("HIGH" if required else "MEDIUM"),
        "documentation": key.doc,
        "group": key.group,
        "width": key.width,
        "display_name": key.name if key.display_name is None else key.display_name,
        "dependents": list(key.dependents),
        "order": order,
    }


def _recommendation(key: Key, values: Values, answers: dict[Callable[[Values], Any], Any]) -> Recommendation:
    def ask(function: Callable[[Values], Any]) -> Any:
        if function not in answers:
            found = function(values)
            answers[function] = tuple(found) if isinstance(found, Iterable) else found
        return answers[function]

    among = key.among if isinstance(key, Choice | Class) else ()
    try:
        recommended = among if key.recommended is None else ask(key.recommended)
        return Recommendation(tuple(recommended), key.visible is None or bool(ask(key.visible)))
    except Exception as error:  # noqa: BLE001 as a validator's: a user interface shows it at the property
        logger.debug("property %s could not be recommended a value: %s", key.name, type(error).__name__)
        return Recommendation(among, error=f"{key.name}: no values can be recommended: {with_class(error)}")


def _undefined_dependents(definition: ConfigDef) -> list[str]:
    named = dict.fromkeys(one for key in definition.keys.values() for one in key.dependents)
    return [one for one in named if one not in definition.keys]


def _key_value_info(
    key: Key, given: Mapping[str, str | None], errors: Sequence[str], recommended: Recommendation
) -> dict[str, Any]:
    text = given.get(key.name)
    if key.name not in given and key.default is not REQUIRED:
        text = _text(key, key.default)
    shown = _HIDDEN if isinstance(key, Password) and text is not None else text
    values = [_text(key, value) for value in recommended.values]
    return _value_info(key.name, shown, errors) | {"recommended_values": values, "visible": recommended.visible}


def _undefined(name: str, errors: Sequence[str]) -> ConfigInfo:
    # Its value is not shown: nobody knows whether it is a secret.
    return ConfigInfo(None, _value_info(name, None, errors))


def _value_info(name: str, value: str | None, errors: Sequence[str]) -> dict[str, Any]:
    return {"name": name, "value": value, "recommended_values": [], "errors": list(errors), "visible": True}


def _text(key: Key, value: object) -> str | None:
    if value is None:
        return None
    return _HIDDEN if isinstance(key, Password) else key.shown(value)


def _property_of(text: str, definition: ConfigDef, given: Mapping[str, str | None]) -> str:
    found = (match.group(1).rstrip(".") for pattern in _NAMED for match in pattern.finditer(text))
    return next((name for name in found if name in definition.keys or name in given), _FALLBACK)
