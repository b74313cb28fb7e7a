"""Encode requests as frames, decode answers from frames."""

from __future__ import annotations

import dataclasses
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, get_args

from kio.index import load_request_schema, load_response_schema
from kio.serial import entity_reader

from eosfw_memory.client.transport.apis import Fields
from eosfw_memory.common.delayed_operation import Answer
from eosfw_memory.server.protocol.bounds_check import check_answer
from eosfw_memory.server.protocol.schemas import is_array, message_class
from eosfw_memory.server.protocol.serializer import MessageWriter, message_writer
from eosfw_memory.storage.records.batch import Buffer

_LENGTH = struct.Struct(">i")
_HEADER = struct.Struct(">hhih")
"""Key, version, correlation id, length of the client id: the client id has the old form in every version."""
_TIMESTAMP, _NUMBER = "datetime_i64", "int64"
_ABOUT = ("__type__", "__version__", "__flexible__", "__api_key__", "__header_schema__")
_Flatten = Callable[[Any], Mapping[str, Any]]


class AnswerError(Exception):
    """A frame holds no answer of this kind, or an answer that declares more bytes than it has."""


@dataclass(frozen=True, slots=True)
class Format:
    """The wire format of one version of a request and of its answer."""

    key: int
    version: int
    flexible: bool
    write_body: MessageWriter
    answered: type
    read_header: Any
    read_body: Any
    flatten: _Flatten

    def frame(self, correlation_id: int, client_id: str, request: Fields) -> bytes:
        """The frame of a request, with its length in front."""
        named = client_id.encode()
        header = _HEADER.pack(self.key, self.version, correlation_id, len(named)) + named
        pieces: list[Buffer] = [b"", header, b"\0" if self.flexible else b""]
        self.write_body(request, pieces)
        pieces[0] = _LENGTH.pack(sum(map(len, pieces)))
        return b"".join(pieces)

    def answer(self, frame: bytes) -> tuple[int, Answer]:
        """The correlation id and the answer in a frame; raise AnswerError if it holds no such answer."""
        try:
            check_answer(frame, self.answered)
            header, size = self.read_header(frame, 0)
            body, _ = self.read_body(frame, size)
        except Exception as wrong:  # kio raises many types for bytes that are no answer
            raise AnswerError(f"{wrong}") from wrong
        return header.correlation_id, self.flatten(body)


@cache
def format_of(key: int, version: int) -> Format:
    """The format of one version of a request; kio loads its schemas at the first call."""
    request, response = load_request_schema(key, version), with_numeric_timestamps(load_response_schema(key, version))
    return Format(
        key,
        version,
        bool(request.__header_schema__.__flexible__),
        message_writer(request),
        response,
        entity_reader(response.__header_schema__),
        entity_reader(response),
        flattener(response),
    )


@cache
def flattener(schema: type) -> _Flatten:
    """A function that turns a message of this class into mappings by field names, the form that handlers answer in."""
    plan = [(field.name, _converter(field)) for field in dataclasses.fields(schema)]

    def flatten(message: Any) -> Mapping[str, Any]:
        return {
            name: getattr(message, name) if convert is None else convert(getattr(message, name))
            for name, convert in plan
        }

    return flatten


def _converter(field: dataclasses.Field[Any]) -> Callable[[Any], Any] | None:
    if field.metadata.get("kafka_type") is not None:
        return None
    nested = flattener(message_class(field.type))
    if tuple in {getattr(kind, "__origin__", None) for kind in (field.type, *get_args(field.type))}:
        return lambda values: None if values is None else [nested(value) for value in values]
    return lambda value: None if value is None else nested(value)


# --- timestamps: kio refuses the -1 that Kafka sends for "none" where its schema allows no null


@cache
def with_numeric_timestamps(schema: type[Any]) -> Any:
    """The message class with its non-nullable timestamps as milliseconds; the same class if it has none."""
    fields = dataclasses.fields(schema)
    changed = {field.name: made for field in fields if (made := _changed(field)) is not None}
    if not changed:
        return schema
    return dataclasses.make_dataclass(
        schema.__name__,
        [changed.get(each.name) or (each.name, each.type, _copied(each, each.metadata)) for each in fields],
        namespace={name: getattr(schema, name) for name in _ABOUT if hasattr(schema, name)},
        frozen=True,
        slots=True,
        kw_only=True,
    )


def _changed(field: dataclasses.Field[Any]) -> tuple[str, Any, Any] | None:
    kind = field.metadata.get("kafka_type")
    if kind == _TIMESTAMP and type(None) not in get_args(field.type):
        return field.name, int, _copied(field, {**field.metadata, "kafka_type": _NUMBER})
    if kind is not None:
        return None
    nested = message_class(field.type)
    made = with_numeric_timestamps(nested)
    if made is nested:
        return None
    return field.name, tuple[made, ...] if is_array(field.type) else made, _copied(field, field.metadata)  # type: ignore[valid-type]


def _copied(field: dataclasses.Field[Any], metadata: Any) -> Any:
    given = {} if field.default is dataclasses.MISSING else {"default": field.default}
    return dataclasses.field(metadata=dict(metadata), **given)
