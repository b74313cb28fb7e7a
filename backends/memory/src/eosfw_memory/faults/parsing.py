"""Make rules from their names and fields, or from a TOML file; suggest the nearest name for a wrong one."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, fields
from math import isfinite
from pathlib import Path
from typing import Any, Final

from eosfw.config import nearest
from eosfw.config.named_file import read_text, unreadable
from eosfw.errors import ConfigError, Problem
from eosfw_memory.common.codes import Code
from eosfw_memory.faults import points
from eosfw_memory.faults.rules import (
    ANY_REQUEST,
    DAMAGED_FILES,
    DAMAGES,
    DISK_CALLS,
    DISK_CODES,
    KINDS,
    DiskError,
    Jump,
    Refuse,
    Rule,
    WrongBytes,
)

_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "nth": (int,),
    "times": (int,),
    "copies": (int,),
    "again": (int,),
    "seconds": (int, float),
    "down": (int, float),
    "silent": (bool,),
    "early": (bool,),
}
"""The types of fields whose values are not text."""
_TABLE = "fault"
_WORDS: Final[Mapping[type, str]] = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}
_SECONDS: Final = ("seconds", "down")
_LONGEST: Final = 10 * 365 * 86_400
"""Seconds: longer than any test, and not too long for a clock of the operating system."""
_LEAST: Final[Mapping[str, int]] = {"nth": 1, "times": 1, "copies": 2, "seconds": 0, "down": 0, "again": 0}


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
    what, names = _NAMES_OF.get((kind, name), (name, _NAMES.get(name, lambda: (value,))))
    if name == "only":
        if not callable(value):
            yield f"{value!r} is not a function"
    elif type(value) not in expected:  # a subclass will not do: True is an int
        yield f"{value!r} is not {_WORDS[expected[-1]]}"
    elif isinstance(value, float) and not isfinite(value):
        yield f"{value} is no number of seconds"
    elif name in _SECONDS and abs(value) > _LONGEST:
        yield f"{value:g} is more than {_LONGEST} seconds"
    elif name in _LEAST and value < _LEAST[name] and kind is not Jump:  # which may set the clock back
        yield f"{value} is less than {_LEAST[name]}"
    elif value not in (known := list(names())):
        yield _unknown(what, value, known)


def _unknown(what: str, name: str, known: Iterable[str]) -> str:
    known = list(known)
    folded = {one.lower().replace("_", "-"): one for one in known}
    near = nearest(name.lower().replace("_", "-"), folded)
    suggestion = f"did you mean {folded[near]!r}?" if near else f"there are: {', '.join(known)}"
    return f"there is no {what} {name!r}; {suggestion}"


_NAMES: Final[Mapping[str, Callable[[], Iterable[str]]]] = {
    "request": lambda: (*points.requests(), ANY_REQUEST),
    "at": points.points,
    "on": lambda: DISK_CALLS,
    "code": lambda: [code.name for code in Code],
}
_NAMES_OF: Final[Mapping[tuple[type[Rule], str], tuple[str, Callable[[], Iterable[str]]]]] = {
    (Refuse, "at"): ("write to refuse", points.refusable),
    (DiskError, "code"): ("error of a disk", lambda: DISK_CODES),
    (WrongBytes, "file"): ("kind of file", lambda: DAMAGED_FILES),
    (WrongBytes, "how"): ("damage", lambda: DAMAGES),
}
"""The names that a field may have in one kind alone, and what they are called."""

# --- files


def read_rules(path: Path) -> list[Rule]:
    """The rule of each table `[[fault]]`; raise ConfigError, with file and key, for everything that is wrong."""
    rules, problems = [], []
    for number, table in enumerate(_tables(path), 1):
        fields = dict(table)
        try:
            rules.append(parse_rule(_kind(fields), fields))
        except ConfigError as wrong:
            where = f"{path}: {_TABLE} {number}"
            problems += [Problem(f"{where}: {each.where}", each.what) for each in wrong.problems]
    if problems:
        raise ConfigError(*problems)
    return rules


def _kind(fields: dict[str, Any]) -> str:
    if "kind" in fields:
        return str(fields.pop("kind"))
    near = nearest("kind", fields)
    raise ConfigError(Problem("kind", f"is missing; did you mean it by {near!r}?" if near else "is missing"))


def _tables(path: Path) -> list[Mapping[str, Any]]:
    try:
        found = tomllib.loads(read_text(path))
    except (OSError, UnicodeDecodeError) as why:
        raise ConfigError(Problem(str(path), unreadable(why))) from why
    except (ValueError, RecursionError) as why:  # not only TOMLDecodeError: a number of 5,000 digits
        raise ConfigError(Problem(str(path), f"is no TOML: {why}")) from why
    tables = found.pop(_TABLE, None)
    if found or not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        odd = f"unknown: {', '.join(found)}; " if found else ""
        raise ConfigError(Problem(str(path), f"{odd}write a table [[{_TABLE}]] for each fault, and nothing else"))
    return tables
