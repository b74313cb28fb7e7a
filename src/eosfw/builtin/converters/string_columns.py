"""Texts of values that are an array of Arrow (`pyarrow`), all at once; imported with the first of them."""

from __future__ import annotations

from typing import cast

import pyarrow as pa

from eosfw.builtin.connect_json import java_double
from eosfw.builtin.java.float_columns import float_texts
from eosfw.builtin.java.numbers import float_text

__all__ = ["encoded_array"]

_AS_ARROW = (
    pa.types.is_string,
    pa.types.is_integer,
    pa.types.is_boolean,
    pa.types.is_binary,
    pa.types.is_decimal,
)


def encoded_array(encoding: str, array: pa.Array) -> list[bytes | None] | None:
    """What `StringConverter` makes of each value; None if each must be converted by itself."""
    if encoding != "utf-8":
        return None
    if pa.types.is_floating(array.type) and not array.null_count:
        array = float_texts(array, float_text if pa.types.is_float32(array.type) else java_double)
    elif not any(is_kind(array.type) for is_kind in _AS_ARROW):
        return None
    elif pa.types.is_string(array.type):
        array.validate(full=True)  # that it is UTF-8, which an array that was cast may not be
    elif not pa.types.is_binary(array.type):
        array = array.cast(pa.string())
    return cast("list[bytes | None]", array.cast(pa.binary()).to_pylist())
