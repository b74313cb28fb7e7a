"""Variable-length integers of Kafka's formats: seven bits to a byte, the lowest first; Kafka's `ByteUtils`.

Records write signed numbers in zigzag (0, -1, 1, -2 … become 0, 1, 2, 3 …), messages write unsigned ones.
"""

from __future__ import annotations

from typing import Final

from eosfw_memory.common.log_errors import CorruptMessageError

_WORD: Final = 2**64 - 1
# Bytes of a varint of 64 bits.
_LONGEST: Final = 10
_MORE: Final = 0x80
"""Set in every byte of a number but its last."""
_ONE_BYTE_UNSIGNED: Final = tuple(bytes((number,)) for number in range(_MORE))


class _Varints(dict[int, bytes]):
    """A table of the numbers that nearly every record uses; others are encoded when asked for, not kept."""

    def __missing__(self, number: int) -> bytes:
        return encoded(number)


def encoded(number: int) -> bytes:
    """The bytes of a signed number of up to 64 bits, in zigzag."""
    # Zigzag; the mask is needed because Python's negative numbers have no last bit.
    return encoded_unsigned((number << 1 ^ number >> 63) & _WORD)


def encoded_unsigned(number: int) -> bytes:
    """The bytes of a number that is not negative."""
    if number < _MORE:  # nearly always
        return _ONE_BYTE_UNSIGNED[number]
    out = bytearray()
    while number >= _MORE:
        out.append(number & 0x7F | _MORE)
        number >>= 7
    out.append(number)
    return bytes(out)


def compact_string(text: str | None) -> bytes:
    """A text behind its length, as flexible versions of messages have it (KIP-482)."""
    return encoded_unsigned(0) if text is None else compact_bytes(text.encode())


def compact_bytes(data: bytes) -> bytes:
    """Bytes behind their length, as flexible versions of messages have them."""
    return encoded_unsigned(len(data) + 1) + data


def read(data: bytes, position: int) -> tuple[int, int]:
    """The signed number at `position`, with the position behind it."""
    raw, behind = read_unsigned(data, position)
    return (raw >> 1) ^ -(raw & 1), behind


def read_unsigned(data: bytes | bytearray | memoryview, position: int) -> tuple[int, int]:
    """The number at `position` without zigzag, with the position behind it; IndexError at the end of the data."""
    byte = data[position]
    if byte < _MORE:  # nearly always
        return byte, position + 1
    raw = 0
    for at in range(_LONGEST):
        byte = data[position + at]
        raw |= (byte & 0x7F) << 7 * at
        if byte < _MORE:
            return raw, position + at + 1
    raise CorruptMessageError(f"a number takes more than {_LONGEST} bytes")


_ONE_BYTE: Final = {number: bytes((number << 1,)) for number in range(64)}
_TWO_BYTES: Final = {number: bytes((number << 1 & 0x7F | _MORE, number >> 6)) for number in range(64, 8192)}
VARINT: Final = _Varints(_ONE_BYTE | _TWO_BYTES)
"""Any number; those of one or two bytes that count something come from a table."""
