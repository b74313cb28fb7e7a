"""The streams of a tap: what their SCHEMA makes of their rows."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from eosfw.data import StructColumns, struct
from eosfw.errors import DamagedDataError
from eosfw_singer.schemas import value_type

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from eosfw.data import Schema
    from eosfw_singer.messages import SchemaMessage
    from eosfw_singer.schemas import TypeSettings, ValueType

_NOT_IN_TOPICS: Final = re.compile(r"[^A-Za-z0-9._-]")


@dataclass(frozen=True, slots=True, eq=False)
class Stream:
    """A stream with one SCHEMA; another SCHEMA makes another object."""

    name: str
    topic: str
    message: SchemaMessage
    row: ValueType
    key_schema: Schema | None
    replication_key: str | None

    @property
    def members(self) -> Mapping[str, ValueType] | None:
        """The type of each property; None for rows that are a text of JSON each."""
        return self.row.members

    def keys(self, records: Sequence[Mapping[str, Any]]) -> StructColumns | None:
        """The keys of rows."""
        if self.key_schema is None or self.members is None:
            return None
        return _columns({name: self.members[name] for name in self.key_schema.names}, records)

    def values(self, records: Sequence[Mapping[str, Any]]) -> Sequence[Any]:
        """The values of rows; properties that the SCHEMA does not have are left out."""
        if self.members is None:
            return [self.row.apply(record) for record in records]
        return _columns(self.members, records)

    def unknown(self, records: Sequence[Mapping[str, Any]]) -> set[str]:
        """The properties of rows that the SCHEMA does not have."""
        if self.members is None:
            return set()
        known = self.members.keys()
        return {name for record in records if not known >= record.keys() for name in record.keys() - known}


def stream_of(message: SchemaMessage, prefix: str, settings: TypeSettings, replication_key: str | None) -> Stream:
    """The stream of a SCHEMA; DamagedDataError if it is no JSON Schema, or its key none of its properties."""
    name = message.stream
    try:
        row = value_type({**message.schema, "type": "object"}, settings, name)
    except (TypeError, ValueError, AttributeError):
        raise DamagedDataError(
            f"the tap gave a SCHEMA of stream {name!r} that is no JSON Schema: report it to the tap, or leave the "
            f"stream out by `streams`"
        ) from None
    return Stream(
        name,
        prefix + _NOT_IN_TOPICS.sub("_", name),
        message,
        row,
        _key_schema(message, row.members or {}),
        replication_key,
    )


def _key_schema(message: SchemaMessage, members: Mapping[str, ValueType]) -> Schema | None:
    if not message.key_properties:
        return None
    missing = [name for name in message.key_properties if name not in members]
    if missing:
        raise DamagedDataError(
            f"the SCHEMA of stream {message.stream!r} names {missing[0]!r} as a key property, but has no such property"
        )
    # Whether a key may be null is what its type says: taps name few properties as `required`.
    return struct({name: members[name].schema for name in message.key_properties}, f"{message.stream}.Key")


def _columns(members: Mapping[str, ValueType], records: Sequence[Mapping[str, Any]]) -> StructColumns:
    columns = {}
    for name, made in members.items():
        column = [record.get(name) for record in records]
        columns[name] = column if made.convert is None else list(map(made.apply, column))
    return StructColumns(columns, len(records))
