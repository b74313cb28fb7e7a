"""Floating-point numbers in arrays of Arrow (`pyarrow`) as Java writes them; imported with the first of them."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["float_texts"]


def float_texts(array: pa.Array, write: Callable[[float], str]) -> pa.Array:
    """The texts of numbers, none of them null; `write` gives those that Arrow writes in another way than Java.

    Both write the shortest digits that tell a number from its neighbours, and from 10^-3 up to 10^7 both write them
    without an exponent.
    """
    size = pc.abs(array).cast(pa.float64())
    alike = pc.or_(pc.equal(size, 0.0), pc.and_(pc.greater_equal(size, 1e-3), pc.less(size, 1e7)))
    written = array.cast(pa.string())
    # Java writes a digit behind the point, even if it is zero.
    whole = pc.equal(pc.floor(array), array)
    written = pc.if_else(whole, pc.binary_join_element_wise(written, ".0", ""), written)
    if alike.false_count == 0:
        return written
    others = pc.invert(alike)
    return pc.replace_with_mask(written, others, pa.array(map(write, array.filter(others).to_pylist()), pa.string()))
