"""Rows of many messages of pgoutput as arrays of texts, a column at once by numpy; imported with the first of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eosfw_postgres.row_arrays import RowArrays

__all__ = ["rows_of_tuples"]

_MOST_BYTES = 1 << 30
"""An array of texts has at most twice as many."""
_TEXT, _NULL = b"tn"
_LENGTH = 4
"""Bytes of the length of a text."""


def rows_of_tuples(messages: Sequence[bytes], start: int, columns: int) -> RowArrays | None:
    """The rows of tuples that begin at a place of each message and end with it.

    None unless each has so many values, all of which were sent.
    """
    joined = b"".join([*messages, bytes(_LENGTH)])  # behind a null at the end no length is found, but looked for
    if len(joined) > _MOST_BYTES:
        return None
    data = np.frombuffer(joined, np.uint8)
    ends = np.cumsum(np.fromiter(map(len, messages), np.int64, len(messages)))
    at = np.concatenate((np.zeros(1, np.int64), ends[:-1])) + start
    if ((data[at].astype(np.int32) << 8 | data[at + 1]) != columns).any():
        return None
    bounds, sent = np.empty((len(messages), 2 * columns), np.int32), []
    at += 2
    for column in range(columns):
        kinds = data[at]
        texts = kinds == _TEXT
        if not (texts | (kinds == _NULL)).all():
            return None
        begin = at + np.where(texts, 1 + _LENGTH, 1)
        at = begin + np.where(texts, _lengths(data, at + 1), 0)
        if (at > ends).any():
            return None
        bounds[:, 2 * column], bounds[:, 2 * column + 1] = begin, at
        sent.append(texts)
    return RowArrays(_arrays(joined, bounds, sent), len(messages)) if (at == ends).all() else None


def _lengths(data: np.ndarray, at: np.ndarray) -> np.ndarray:
    length = np.zeros(len(at), np.int64)
    for byte in range(_LENGTH):
        length = length << 8 | data[at + byte]
    return length


def _arrays(joined: bytes, bounds: np.ndarray, sent: Sequence[np.ndarray]) -> list[pa.Array]:
    """The texts between each two bounds of a row, which are in the order of the bytes."""
    count, width = bounds.shape
    # Each second part lies between two texts: nobody takes it.
    offsets = np.append(bounds.reshape(-1), np.int32(len(joined)))
    parts = pa.Array.from_buffers(pa.string(), count * width, [None, pa.py_buffer(offsets), pa.py_buffer(joined)])
    rows = np.arange(count) * width
    made = []
    for column, texts in enumerate(sent):
        array = parts.take(pa.array(rows + 2 * column))
        made.append(array if texts.all() else pc.if_else(pa.array(texts), array, None))
    return made
