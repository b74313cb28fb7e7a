"""The hash of a batch's content, the same whatever the order of its rows and however they are divided."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import repeat
from operator import xor
from typing import Final
from zlib import crc32

import pyarrow as pa
import pyarrow.compute as pc

from eosfw_spark.sink.tokens.token import BatchContent

_MODULUS: Final = 1 << 64


def hash_rows(batch: pa.RecordBatch) -> int:
    """The sum of a checksum of each row. Shuffles may bring rows in another order, so that order does not count."""
    sums: Iterable[int] = repeat(0, batch.num_rows)
    for number, column in enumerate(batch.columns):
        texts = _as_bytes(column)
        # Null has no length; a number of its own for each column keeps several nulls from cancelling each other.
        null = crc32(b"null %d" % number)
        lengths = pc.fill_null(pc.binary_length(texts).cast(pa.uint32()), null).to_pylist()
        # The checksum of one column is the start of the next one's: values that swap rows are another content. The
        # length keeps apart what two columns would spell together.
        sums = map(crc32, pc.fill_null(texts, b"").to_pylist(), map(xor, sums, lengths))
    return sum(sums) % _MODULUS


def combine(hashes: Iterable[int], rows: int) -> BatchContent:
    """The content of a batch whose parts have these hashes."""
    return BatchContent(f"{sum(hashes) % _MODULUS:016x}", rows)


def _as_bytes(column: pa.Array) -> pa.Array:
    if pa.types.is_nested(column.type):
        return pa.array([None if value is None else repr(value).encode() for value in column.to_pylist()], pa.binary())
    return column if pa.types.is_binary(column.type) else column.cast(pa.string()).cast(pa.binary())
