"""Confluent's wire format: a zero, the id of the schema in four bytes, then what a format writes."""

from __future__ import annotations

from eosfw.errors import DataError

_MAGIC = b"\0"
_HEAD = 5


def head(number: int) -> bytes:
    """What stands in front of each value of a schema."""
    return _MAGIC + number.to_bytes(4, "big")


def parted(data: bytes) -> tuple[int, bytes]:
    """The id of the schema and what follows; DataError if these bytes are none of this format."""
    if len(data) < _HEAD or data[:1] != _MAGIC:
        raise DataError("Unknown magic byte! It was not written with a schema registry")
    return int.from_bytes(data[1:_HEAD], "big"), data[_HEAD:]


def message_indexes(indexes: tuple[int, ...]) -> bytes:
    """What Protobuf has behind the id: the place of the message in its schema, by an index on each level."""
    if indexes == (0,):  # short for the first message, which most schemas have alone
        return b"\0"
    return b"".join(map(_zigzag, (len(indexes), *indexes)))


def parted_indexes(data: bytes) -> tuple[tuple[int, ...], bytes]:
    """The place of a Protobuf message in its schema, and its bytes; DataError if there is no place."""
    count, at = _number(data, 0)
    if count == 0:
        return (0,), data[at:]
    if not 0 < count <= len(data):
        raise DataError("the index of its Protobuf message is damaged")
    indexes = []
    for _ in range(count):
        index, at = _number(data, at)
        indexes.append(index)
    return tuple(indexes), data[at:]


def _zigzag(number: int) -> bytes:
    """A number that is not negative, as Kafka's `ByteUtils.writeVarint` writes it."""
    left, made = number << 1, bytearray()
    while left > 0x7F:
        made.append(left & 0x7F | 0x80)
        left >>= 7
    made.append(left)
    return bytes(made)


def _number(data: bytes, at: int) -> tuple[int, int]:
    found = shift = 0
    while at < len(data) and shift < 35:
        byte = data[at]
        found |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if not byte & 0x80:
            return (found >> 1) ^ -(found & 1), at
    raise DataError("the index of its Protobuf message is damaged")
