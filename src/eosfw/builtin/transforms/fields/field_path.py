"""Paths to nested fields (KIP-821; Kafka Connect's `SingleFieldPath`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Self

from eosfw.builtin.transforms.fields.requirements import require_map
from eosfw.builtin.transforms.fields.struct_change import filled
from eosfw.config import Choice
from eosfw.data import Schema, StructColumns, Type, default_of
from eosfw.data.columns import Column, as_list, is_arrow
from eosfw.errors import DataError

__all__ = ["FIELD_SYNTAX_VERSION", "FieldPath", "Nulls"]

FIELD_SYNTAX_VERSION = Choice(
    "field.syntax.version",
    "V1",
    "V1: a name is that of a field; V2: dots lead into nested fields, and `backticks` keep those in a name (KIP-821)",
    importance="HIGH",
    among=("V1", "V2"),
)
_PURPOSE = "nested field access"


class Nulls(NamedTuple):
    """Where defaults replace null."""

    outer: bool
    """In the fields that lead to the last one."""
    last: bool


class FieldPath:
    """The names that lead to a field, from the outermost on."""

    def __init__(self, steps: Sequence[str], text: str = "") -> None:
        self._steps = steps
        self._text = text

    @classmethod
    def parse(cls, text: str, version: str) -> Self:
        """Read a path; ValueError for a backtick without the other."""
        return cls(_steps(text) if version == "V2" else [text], text)

    def schema_in(self, schema: Schema) -> Schema:
        """The schema of the field; DataError if there is none."""
        for step in self._steps:
            if schema.type is not Type.STRUCT:
                raise DataError("Cannot look up fields on non-struct type")
            found = schema.field(step)
            if found is None:
                raise DataError(f"Unknown field: {self._text}")
            schema = found
        return schema

    def in_map(self, value: Any) -> Any:
        """The field of a mapping without schema; None if it, or what holds it, is missing."""
        *outer, last = self._steps
        for step in outer:
            value = value.get(step)
            if value is None:
                return None
            value = require_map(value, _PURPOSE)
        return value.get(last)

    def in_struct(self, schema: Schema, value: Mapping[str, Any], nulls: Nulls) -> Any:
        """The field of a struct that has it."""
        found: Any = value
        for step, default in self._walk(schema, nulls):
            found = default if found[step] is None else found[step]
            if found is None:
                return None
        return found

    def in_column(self, schema: Schema, values: Column, nulls: Nulls) -> Column:
        """The field of many structs."""
        column = values
        for step, default in self._walk(schema, nulls):
            column = _field(column, step, default)
        return column

    def _walk(self, schema: Schema, nulls: Nulls) -> Iterator[tuple[str, Any]]:
        """Each step with the default that replaces null."""
        for step in self._steps[:-1]:
            schema = _present(schema, step)
            yield step, default_of(schema) if nulls.outer else None
        schema = _present(schema, self._steps[-1])
        yield self._steps[-1], default_of(schema) if nulls.last else None


def _present(schema: Schema, name: str) -> Schema:
    found = schema.field(name)
    assert found is not None, "`schema_in` has been asked"
    return found


def _field(outer: Column, name: str, default: Any) -> Column:
    """A field of many structs with its default where it is null; null where the struct is."""
    column = _inner(outer, name)
    if default is None:
        return column
    if not _has_nulls(outer):
        return filled(column, default)
    made = zip(as_list(outer), as_list(column), strict=True)
    return [None if whole is None else default if one is None else one for whole, one in made]


def _inner(outer: Column, name: str) -> Column:
    if isinstance(outer, StructColumns):
        return outer.columns[name]
    if is_arrow(outer):
        from eosfw.builtin.transforms.fields.arrow_columns import inner_array

        return inner_array(outer, name)
    return [None if one is None else one[name] for one in outer]


def _has_nulls(column: Column) -> bool:
    if is_arrow(column) or isinstance(column, StructColumns):
        return bool(getattr(column, "null_count", 0))
    return None in column


def _steps(path: str) -> list[str]:
    """The names of a path: between dots, or between backticks that a dot or the end follows."""
    steps, at = [], 0
    while at < len(path):
        if path[at] == "`":
            name, at = _quoted(path, at)
        else:
            end = path.find(".", at)
            end = len(path) if end < 0 else end
            name, at = path[at:end], end + 1
        steps.append(name)
    return [*steps, ""] if path.endswith(".") else steps


def _quoted(path: str, opened: int) -> tuple[str, int]:
    """The name that a backtick opens, and the place behind it and its dot."""
    name, start, at = "", opened + 1, opened + 1
    while True:
        at = path.find("`", at)
        if at < 0:
            raise ValueError(_incomplete(path, opened))
        escaped, last = path[at - 1] == "\\", at == len(path) - 1
        if last and escaped:
            raise ValueError(_incomplete(path, opened))
        if last or (path[at + 1] == "." and not escaped):
            return name + path[start:at], at + 2
        if path[at + 1] == ".":
            name, start = f"{name}{path[start : at - 1]}`", at + 1
        at += 1


def _incomplete(path: str, opened: int) -> str:
    return (
        f"Incomplete backtick pair in path: [{path}], consider adding a backslash before backtick at position {opened} "
        "to escape it"
    )
