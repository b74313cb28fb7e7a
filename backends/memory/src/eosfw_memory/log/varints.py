"""Encode numbers as Kafka's records do: zigzag, then seven bits to a byte."""

from __future__ import annotations

from typing import Final

from eosfw_memory.log.errors import CorruptMessageError

_WORD: Final = 2**64 - 1
_LONGEST: Final = 10


class _Varints(dict[int, bytes]):
    """A table of the numbers that nearly every record uses; others are worked out when asked for, not kept."""

    def __missing__(self, number: int) -> bytes:
        return encoded(number)


def encoded(number: int) -> bytes:
    """The bytes of a signed number of up to 64 bits."""
    rest = (number << 1 ^ number >> 63) & _WORD
    out = bytearray()
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)


def read(data: bytes, position: int) -> tuple[int, int]:
    """The signed number at `position`, with the position behind it."""
    raw, behind = read_unsigned(data, position)
    return (raw >> 1) ^ -(raw & 1), behind


def read_unsigned(data: bytes, position: int) -> tuple[int, int]:
    """The number at `position` without zigzag, with the position behind it; IndexError at the end of the data."""
    raw = 0
    for at in range(_LONGEST):
        byte = data[position + at]
        raw |= (byte & 0x7F) << 7 * at
        if byte < 0x80:
            return raw, position + at + 1
    raise CorruptMessageError(f"a number in a record takes more than {_LONGEST} bytes")


_ONE_BYTE: Final = {number: bytes((number << 1,)) for number in range(64)}
_TWO_BYTES: Final = {number: bytes((number << 1 & 0x7F | 0x80, number >> 6)) for number in range(64, 8192)}
VARINT: Final = _Varints(_ONE_BYTE | _TWO_BYTES)
"""Any number; those of one or two bytes that count something come from a table."""
