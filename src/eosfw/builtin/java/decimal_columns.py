"""Decimals in arrays of Arrow (`pyarrow`) as Base64 of Java's bytes; imported with the first of them."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["decimal_texts"]

_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_PAIRS = pa.array([first + second for first in _ALPHABET for second in _ALPHABET])
_LAST = pa.array([f"{one}=" for one in _ALPHABET])
_WIDEST = 7
"""Bytes whose characters, of 6 bits each, are within 64 bits."""


def decimal_texts(array: pa.Array, write: Callable[[Decimal], str]) -> pa.Array:
    """JSON's texts of decimals (decimal128), none of them null: what Java's `BigInteger.toByteArray` gives, in Base64.

    `write` gives the texts where a number has more than seven bytes.
    """
    whole = pa.Array.from_buffers(pa.decimal128(38, 0), len(array), array.buffers(), offset=array.offset)
    try:
        unscaled = whole.cast(pa.int64())
    except pa.ArrowInvalid:  # beyond 64 bits
        return pa.array(map(write, array.to_pylist()), pa.string())
    # A negative number has the width of the one with all bits turned.
    sizes = pc.if_else(pc.less(unscaled, 0), pc.bit_wise_not(unscaled), unscaled)
    limits = pc.min_max(sizes)
    low, high = (limits[name].as_py() or 0 for name in ("min", "max"))
    if _width(high) > _WIDEST:
        return pa.array(map(write, array.to_pylist()), pa.string())
    if _width(low) == _width(high):
        return _texts(unscaled, _width(high))
    made = pa.nulls(len(array), pa.string())
    for width in range(_width(low), _width(high) + 1):
        chosen = pc.and_(pc.greater_equal(sizes, _least(width)), pc.less(sizes, _least(width + 1)))
        made = pc.replace_with_mask(made, chosen, _texts(unscaled.filter(chosen), width))
    return made


def _width(size: int) -> int:
    return size.bit_length() // 8 + 1


def _least(width: int) -> int:
    """The smallest size with so many bytes."""
    return 1 << (8 * width - 9) if width > 1 else 0


def _texts(unscaled: pa.Array, width: int) -> pa.Array:
    """The texts of numbers of so many bytes."""
    characters = -(-8 * width // 6)
    bits = pc.shift_left(pc.bit_wise_and(unscaled, (1 << 8 * width) - 1), characters * 6 - 8 * width)
    left = characters * 6
    parts = []
    while left >= 12:
        left -= 12
        parts.append(_PAIRS.take(pc.bit_wise_and(pc.shift_right(bits, left), 0xFFF)))
    if left:
        parts.append(_LAST.take(pc.bit_wise_and(bits, 0x3F)))
    return pc.binary_join_element_wise('"', *parts, '=="' if width % 3 == 1 else '"', "")
