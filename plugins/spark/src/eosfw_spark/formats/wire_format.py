"""The wire format of Confluent's serializers: a zero byte, the schema's id, then the data."""

from __future__ import annotations

from typing import Final

from eosfw_spark.formats.undecodable import UndecodableError

_MAGIC: Final = 0
_PREFIX: Final = 5


def split(data: bytes) -> tuple[int, bytes]:
    """The id of the writer's schema and the data behind it; UndecodableError if there is no id."""
    if len(data) < _PREFIX or data[0] != _MAGIC:
        raise UndecodableError("it does not begin with the id of a schema of a registry")
    return int.from_bytes(data[1:_PREFIX], "big"), data[_PREFIX:]


def message_indexes(data: bytes) -> tuple[tuple[int, ...], bytes]:
    """Which message of a Protobuf schema follows, by its index on each level, and its bytes."""
    count, at = _zigzag(data, 0)
    if count == 0:  # short for the first message, which most schemas have alone
        return (0,), data[at:]
    indexes = []
    if not 0 < count <= len(data):
        raise UndecodableError("the index of its Protobuf message is damaged")
    for _ in range(count):
        index, at = _zigzag(data, at)
        indexes.append(index)
    return tuple(indexes), data[at:]


def _zigzag(data: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while at < len(data) and shift < 64:
        byte = data[at]
        number |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if not byte & 0x80:
            return (number >> 1) ^ -(number & 1), at
    raise UndecodableError("the index of its Protobuf message is damaged")
