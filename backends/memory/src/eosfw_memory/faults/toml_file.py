"""Read faults from a TOML file."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from eosfw.config import nearest
from eosfw.errors import ConfigError, Problem
from eosfw_memory.faults.parsing import parse_rule
from eosfw_memory.faults.rules import Rule

_TABLE = "fault"


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
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as why:
        raise ConfigError(Problem(str(path), f"cannot be read: {why}")) from why
    except (ValueError, RecursionError) as why:  # not only TOMLDecodeError: a number of 5,000 digits
        raise ConfigError(Problem(str(path), f"is no TOML: {why}")) from why
    tables = found.pop(_TABLE, None)
    if found or not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        odd = f"unknown: {', '.join(found)}; " if found else ""
        raise ConfigError(Problem(str(path), f"{odd}write a table [[{_TABLE}]] for each fault, and nothing else"))
    return tables
