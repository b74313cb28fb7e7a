"""The transformations and predicates that a connector chooses (Kafka Connect's `ConnectorConfig`).

`transforms=a,b` names transformations in the order in which they apply. `transforms.a.type` chooses a class,
`transforms.a.predicate` the records to which it applies, `transforms.a.negate` all others instead; everything else
under `transforms.a.` is for the class. `predicates=p` and `predicates.p.type` choose predicates in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from eosfw.config.definition.config_def import Boolean, Config, nearest, trimmed
from eosfw.config.definition.layered import originals_with_prefix
from eosfw.config.parts import PLUGIN_VERSION, PartChoice
from eosfw.errors import Problem

TRANSFORMS = "transforms"
PREDICATES = "predicates"
TYPE, PREDICATE, NEGATE = "type", "predicate", "negate"
_NEGATED = Boolean(NEGATE, False)


@dataclass(frozen=True, slots=True)
class TransformationChoice:
    """One transformation of a connector, and the alias of the predicate that chooses its records."""

    part: PartChoice
    predicate: str | None
    negate: bool


def chosen_transformations(connector: Config) -> list[TransformationChoice]:
    """The transformations in the order in which they apply; the properties must have been validated."""
    return [_transformation(alias, connector.given) for alias in connector[TRANSFORMS]]


def chosen_predicate(alias: str, connector: Config) -> PartChoice:
    """A predicate by its alias."""
    return chosen_part(PREDICATES, alias, connector.given)


def chosen_part(role: str, alias: str, given: Mapping[str, str]) -> PartChoice:
    """The transformation or predicate of an alias, as it was written."""
    return _part(role, alias, given, (TYPE, PREDICATE, NEGATE) if role == TRANSFORMS else (TYPE,))


def transforms_problems(connector: Config) -> list[Problem]:
    """What is wrong with the properties of transformations and predicates before their classes are looked at."""
    return [Problem("", text) for find in _CHECKS for text in find(connector)]


def _transformation(alias: str, given: Mapping[str, str]) -> TransformationChoice:
    prefix = f"{TRANSFORMS}.{alias}."
    negate = _NEGATED.parse_valid(given.get(f"{prefix}{NEGATE}", "false"))
    part = chosen_part(TRANSFORMS, alias, given)
    return TransformationChoice(part, _predicate(given, alias), negate)


def _predicate(given: Mapping[str, str], alias: str) -> str | None:
    name = given.get(f"{TRANSFORMS}.{alias}.{PREDICATE}")
    return None if name is None else trimmed(name)


def _part(role: str, alias: str, given: Mapping[str, str], reserved: tuple[str, ...]) -> PartChoice:
    properties = originals_with_prefix(given, f"{role}.{alias}.")
    own = {name: text for name, text in properties.items() if name not in reserved}
    return PartChoice(f"{role}.{alias}", properties.get(TYPE), own, own.pop(PLUGIN_VERSION, None))


def _missing_types(connector: Config) -> Iterator[str]:
    for role in (TRANSFORMS, PREDICATES):
        for alias in connector[role]:
            name = f"{role}.{alias}.{TYPE}"
            if not connector.given.get(name, "").strip():
                yield f'Missing required configuration "{name}" which has no default value'


def _without_alias(connector: Config) -> Iterator[str]:
    for role in (TRANSFORMS, PREDICATES):
        for name in sorted(one for one in connector.given if one.startswith(f"{role}.")):
            # The longest alias, for one may begin with another and a dot.
            if not any(name.startswith(f"{role}.{alias}.") for alias in connector[role]):
                alias = name.split(".")[1]
                near = nearest(alias, connector[role])
                hint = f"did you mean {near!r}?" if near else f"add {alias!r} to {role}"
                yield f"{name} is for an alias that {role} does not name: {hint}"


def _unfit_predicates(connector: Config) -> Iterator[str]:
    given, known = connector.given, connector[PREDICATES]
    for alias in connector[TRANSFORMS]:
        name, negate = (f"{TRANSFORMS}.{alias}.{one}" for one in (PREDICATE, NEGATE))
        predicate = _predicate(given, alias)
        if predicate is None and negate in given:
            yield f"{negate} negates nothing: {name} names no predicate"
        if predicate is not None and predicate not in known:
            near = nearest(predicate, known)
            hint = f"did you mean {near!r}?" if near else f"{PREDICATES} has: {', '.join(known) or 'none'}"
            yield f"Invalid value {predicate} for configuration {name}: there is no such predicate; {hint}"


def _unfit_negations(connector: Config) -> Iterator[str]:
    for alias in connector[TRANSFORMS]:
        name = f"{TRANSFORMS}.{alias}.{NEGATE}"
        text = connector.given.get(name, "false")
        try:
            _NEGATED.parse_valid(text)
        except ValueError as why:
            yield f"Invalid value {text} for configuration {name}: {why}"


def _unused_predicates(connector: Config) -> Iterator[str]:
    used = {_predicate(connector.given, alias) for alias in connector[TRANSFORMS]}
    for alias in connector[PREDICATES]:
        if alias not in used:
            yield f"no transformation uses predicate {alias!r}: name it in one, or remove it from {PREDICATES}"


_CHECKS: tuple[Callable[[Config], Iterator[str]], ...] = (
    _missing_types, _without_alias, _unfit_predicates, _unfit_negations, _unused_predicates,
)  # fmt: skip
