"""Definitions and validated values of properties, as Kafka Connect shows them (`AbstractHerder.generateResult`)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from eosfw.config import ConfigDef
from eosfw.config.definition import REQUIRED, Boolean, Choice, Int, Key, List, Long, Password
from eosfw.errors import Problem
from eosfw.protocols.herder import ConfigInfo, ConfigInfos

_TYPES = ((Password, "PASSWORD"), (Boolean, "BOOLEAN"), (Long, "LONG"), (Int, "INT"), (List, "LIST"))
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


def config_key_info(key: Key) -> dict[str, Any]:
    """One definition (Connect's `ConfigKeyInfo`)."""
    required = key.default is REQUIRED
    return {
        "name": key.name,
        "type": next((name for kind, name in _TYPES if isinstance(key, kind)), "STRING"),
        "required": required,
        "default_value": None if required else _text(key, key.default),
        "importance": "HIGH" if required else "MEDIUM",
        "documentation": key.doc,
        "group": None,
        "width": "NONE",
        "display_name": key.name,
        "dependents": [],
        "order": -1,
    }


def config_infos(
    name: str, definition: ConfigDef, given: Mapping[str, str | None], problems: Sequence[Problem]
) -> ConfigInfos:
    """The outcome of a validation; a problem belongs to the first property that its text names."""
    errors: dict[str, list[str]] = {}
    for problem in problems:
        errors.setdefault(_property_of(problem.what, definition, given), []).append(problem.what)
    defined = [_info(key, given, errors.get(one, [])) for one, key in definition.keys.items()]
    extra = [_undefined(one, errors[one]) for one in errors if one not in definition.keys]
    return ConfigInfos(name, sum(map(len, errors.values())), (), [*extra, *defined])


def invalid_config_text(infos: ConfigInfos) -> str:
    """The message of a request that is refused for its properties (`AbstractHerder.maybeAddConfigErrors`)."""
    errors = [text for info in infos.configs for text in info.value["errors"]]
    return (
        f"Connector configuration is invalid and contains the following {infos.error_count} error(s):\n"
        + "\n".join(errors)
        + "\nYou can also find the above list of errors at the endpoint "
        "`/connector-plugins/{connectorType}/config/validate`"
    )


def _info(key: Key, given: Mapping[str, str | None], errors: Sequence[str]) -> ConfigInfo:
    text = given.get(key.name)
    if key.name not in given and key.default is not REQUIRED:
        text = _text(key, key.default)
    shown = _HIDDEN if isinstance(key, Password) and text is not None else text
    recommended = list(key.among) if isinstance(key, Choice) else []
    return ConfigInfo(config_key_info(key), _value_info(key.name, shown, errors, recommended))


def _undefined(name: str, errors: Sequence[str]) -> ConfigInfo:
    # Its value is not shown: nobody knows whether it is a secret.
    return ConfigInfo(None, _value_info(name, None, errors))


def _value_info(name: str, value: str | None, errors: Sequence[str], recommended: Sequence[str] = ()) -> dict[str, Any]:
    return {
        "name": name,
        "value": value,
        "recommended_values": list(recommended),
        "errors": list(errors),
        "visible": True,
    }


def _text(key: Key, value: object) -> str | None:
    if value is None:
        return None
    if isinstance(key, Password):
        return _HIDDEN
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(map(str, value)) if isinstance(value, tuple | list) else str(value)


def _property_of(text: str, definition: ConfigDef, given: Mapping[str, str | None]) -> str:
    found = (match.group(1).rstrip(".") for pattern in _NAMED for match in pattern.finditer(text))
    return next((name for name in found if name in definition.keys or name in given), _FALLBACK)
