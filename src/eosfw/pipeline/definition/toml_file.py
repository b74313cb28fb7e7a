"""The text of a pipeline file, parsed as TOML; errors name the line and the correct spelling."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from eosfw.config.named_file import read_text, unreadable
from eosfw.errors import ConfigError, Problem

_AT_LINE = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)$")
_ASSIGNMENT = re.compile(r"\s*([A-Za-z0-9_-]+(?:\s*\.\s*[A-Za-z0-9_-]+)*)\s*=(.*)")


def read_toml(path: Path) -> dict[str, Any]:
    """Parse a file; ConfigError with file, line and remedy."""
    try:
        text = read_text(path)
    except FileNotFoundError:
        raise ConfigError(Problem(str(path), "there is no such file")) from None
    except (OSError, UnicodeDecodeError) as why:
        raise ConfigError(Problem(str(path), unreadable(why))) from why
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as why:
        raise ConfigError(_explained(path, text, str(why))) from None
    except RecursionError:
        raise ConfigError(Problem(str(path), "is nested too deeply")) from None


def flat_properties(table: Mapping[str, Any], where: str, problems: list[Problem]) -> dict[str, str]:
    """A table as properties with dotted names and texts as values; mistakes are added to `problems`."""
    found: dict[str, str] = {}
    for name, value in _leaves(table, ""):
        if name in found:
            problems.append(Problem(where, f'"{name}" is given twice, once quoted and once with bare dots: keep one'))
        try:
            found[name] = _text(value)
        except ValueError as why:
            problems.append(Problem(where, f'"{name}" {why}'))
    return found


def _leaves(table: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


def _text(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str() | int() | float():
            return str(value)
        case list() if all(isinstance(item, str | int | float) for item in value):
            items = [_text(item) for item in value]
            if any("," in item for item in items):
                raise ValueError("has an item with a comma in it, which separates items: rename what it names")
            return ",".join(items)
        case _:
            raise ValueError(f"must be a text, a number, true, false or a list of these, not {type(value).__name__}")


def _explained(path: Path, text: str, message: str) -> Problem:
    at = _AT_LINE.search(message)
    number = int(at[1]) if at and at[1] else len(text.splitlines())
    what = _AT_LINE.sub("", message)
    lines = text.splitlines()
    clash = _ASSIGNMENT.match(lines[number - 1]) if 0 < number <= len(lines) else None
    if clash is None or "overwrite" not in what:
        return Problem(f"{path}:{number}", f"not valid TOML: {what[:1].lower()}{what[1:]}")
    return Problem(f"{path}:{number}", _clash_text(re.sub(r"\s", "", clash[1]), clash[2].strip(), lines[: number - 1]))


def _clash_text(name: str, value: str, before: list[str]) -> str:
    for line in _lines_of_section(before):
        earlier = _ASSIGNMENT.match(line)
        other = re.sub(r"\s", "", earlier[1]) if earlier else ""
        if other == name:
            return f"{name} is given twice: keep one"
        if other and (other.startswith(f"{name}.") or name.startswith(f"{other}.")):
            first = f'"{other}" = {earlier[2].strip()}' if earlier else ""
            both = f'put property names in quotes: {first} and "{name}" = {value}'
            return f"TOML cannot hold {name} beside {other} with bare dots; {both}"
    return f'{name} clashes with an earlier key; put property names in quotes: "{name}" = {value}'


def _lines_of_section(before: list[str]) -> list[str]:
    starts = [number for number, line in enumerate(before) if line.lstrip().startswith("[")]
    return before[starts[-1] + 1 :] if starts else before
