"""Make rules from their names and fields; suggest the nearest name for a wrong one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, fields
from math import isfinite
from typing import Any, Final

from eosfw.config import nearest
from eosfw.errors import ConfigError, Problem
from eosfw_memory.common.codes import Code
from eosfw_memory.faults import points
from eosfw_memory.faults.rules import KINDS, Jump, Refuse, Rule

_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "nth": (int,),
    "times": (int,),
    "copies": (int,),
    "seconds": (int, float),
    "down": (int, float),
    "silent": (bool,),
}
"""The types of fields whose values are not text."""
_WORDS: Final[Mapping[type, str]] = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}
_LEAST: Final[Mapping[str, int]] = {"nth": 1, "times": 1, "copies": 2, "seconds": 0, "down": 0}


def parse_rule(what: Rule | str, given: Mapping[str, object]) -> Rule:
    """The rule of this name with these fields; raise ConfigError with every problem."""
    if not isinstance(what, str):
        given = {field.name: getattr(what, field.name) for field in fields(what)} | dict(given)
        what = what.kind
    kind = KINDS.get(what)
    if kind is None:
        raise ConfigError(Problem("kind", _unknown("fault", what, KINDS)))
    known = {field.name: field for field in fields(kind)}
    problems = [Problem(name, _unknown(f"field of {what}", name, known)) for name in given if name not in known]
    missing = [name for name, field in known.items() if field.default is MISSING and given.get(name) is None]
    problems += [Problem(name, f"{what} does not say which") for name in missing]
    for name, value in given.items():
        optional = name in known and known[name].default is None
        if name in known and not (value is None and (optional or name in missing)):
            problems += [Problem(name, why) for why in _wrong(kind, name, value)]
    if problems:
        raise ConfigError(*problems)
    return kind(**given)  # type: ignore[arg-type]


def _wrong(kind: type[Rule], name: str, value: Any) -> Iterable[str]:
    expected = _TYPES.get(name, (str,))
    if type(value) not in expected:  # a subclass will not do: True is an int
        yield f"{value!r} is not {_WORDS[expected[-1]]}"
    elif isinstance(value, float) and not isfinite(value):
        yield f"{value} is no number of seconds"
    elif name in _LEAST and value < _LEAST[name] and kind is not Jump:  # which may set the clock back
        yield f"{value} is less than {_LEAST[name]}"
    elif kind is Refuse and name == "at":
        if value not in (known := points.refusable()):
            yield _unknown("write to refuse", value, known)
    elif name in _NAMES and value not in (known := list(_NAMES[name]())):
        yield _unknown(name, value, known)


def _unknown(what: str, name: str, known: Iterable[str]) -> str:
    known = list(known)
    folded = {one.lower().replace("_", "-"): one for one in known}
    near = nearest(name.lower().replace("_", "-"), folded)
    suggestion = f"did you mean {folded[near]!r}?" if near else f"there are: {', '.join(known)}"
    return f"there is no {what} {name!r}; {suggestion}"


_NAMES: Final[Mapping[str, Callable[[], Iterable[str]]]] = {
    "request": points.requests,
    "at": points.points,
    "code": lambda: [code.name for code in Code],
}
