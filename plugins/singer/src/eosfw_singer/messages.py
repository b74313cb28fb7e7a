"""The messages that a tap writes, a line of JSON each."""

from __future__ import annotations

import json
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeAlias

from eosfw_singer.state_text import exact_number

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True)
class SchemaMessage:
    """A SCHEMA: the shape of the rows of a stream that follow."""

    stream: str
    schema: Any
    """JSON Schema."""
    key_properties: tuple[str, ...]
    bookmark_properties: tuple[str, ...]


# Not frozen: there is one for each row, and a frozen one takes longer to make.
@dataclass(slots=True)
class RecordMessage:
    """A RECORD: one row of a stream."""

    stream: str
    record: dict[str, Any]
    version: int | None = None


@dataclass(frozen=True, slots=True)
class StateMessage:
    """A STATE: where a tap that is started with it goes on."""

    value: Any


@dataclass(frozen=True, slots=True)
class ActivateVersionMessage:
    """An ACTIVATE_VERSION: the rows of the stream that have another version count no more."""

    stream: str
    version: int


@dataclass(frozen=True, slots=True)
class OtherMessage:
    """A message of a type that Singer does not have, or that cannot be taken, such as BATCH."""

    type: str


Message: TypeAlias = SchemaMessage | RecordMessage | StateMessage | ActivateVersionMessage | OtherMessage


class NoMessageError(ValueError):
    """A line that is no message of Singer; the text says why, without the line."""


def message_of(line: bytes, *, exact_numbers: bool = False) -> Message:
    """The message of a line; with `exact_numbers` numbers with a fraction are of type Decimal.

    Those of a STATE are so without it, where a float would be another number: the tap would go on at another place.
    """
    try:
        found = json.loads(line, parse_float=Decimal) if exact_numbers else json.loads(line)
    except (ValueError, RecursionError):
        raise NoMessageError("it is no JSON") from None
    if not isinstance(found, dict) or not isinstance(found.get("type"), str):
        raise NoMessageError("it is no JSON object with a type")
    kind = found["type"].upper()
    if kind == "STATE" and not exact_numbers:
        found = json.loads(line, parse_float=exact_number)
    make = _KINDS.get(kind)
    return OtherMessage(kind) if make is None else make(found)


def _record(found: dict[str, Any]) -> RecordMessage:
    record, stream, version = found.get("record"), found.get("stream"), found.get("version")
    if not isinstance(stream, str) or not isinstance(record, dict):
        raise NoMessageError("it is a RECORD without a stream and a record")
    return RecordMessage(stream, record, version if isinstance(version, int) else None)


def _schema(found: dict[str, Any]) -> SchemaMessage:
    stream, schema = found.get("stream"), found.get("schema")
    if not isinstance(stream, str) or not isinstance(schema, dict):
        raise NoMessageError("it is a SCHEMA without a stream and a schema")
    return SchemaMessage(stream, schema, _names(found, "key_properties"), _names(found, "bookmark_properties"))


def _names(found: dict[str, Any], entry: str) -> tuple[str, ...]:
    names = found.get(entry) or []
    if isinstance(names, str):
        return (names,)
    if not isinstance(names, list) or not all(isinstance(one, str) for one in names):
        raise NoMessageError(f"it is a SCHEMA whose {entry} is no list of names")
    return tuple(names)


def _state(found: dict[str, Any]) -> StateMessage:
    if "value" not in found:
        raise NoMessageError("it is a STATE without a value")
    return StateMessage(found["value"])


def _activate(found: dict[str, Any]) -> ActivateVersionMessage:
    stream, version = found.get("stream"), found.get("version")
    if not isinstance(stream, str) or not isinstance(version, int):
        raise NoMessageError("it is an ACTIVATE_VERSION without a stream and a version")
    return ActivateVersionMessage(stream, version)


_KINDS: dict[str, Callable[[dict[str, Any]], Message]] = {
    "RECORD": _record,
    "SCHEMA": _schema,
    "STATE": _state,
    "ACTIVATE_VERSION": _activate,
}
