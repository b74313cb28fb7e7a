"""The partitions that Java's default partitioner gives to keys, for whole columns."""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

_SEED: Final = 0x9747B28C
_M: Final = pa.scalar(0x5BD1E995, pa.uint32())
_WORD: Final = 4


def key_partitions(keys: pa.Array, count: int) -> pa.Array:
    """The partition, of `count`, of each key; null for a key that is null."""
    lengths = pc.binary_length(keys)
    found, places = [], []
    for length in pc.unique(lengths.drop_null()).to_pylist():
        at = pc.indices_nonzero(pc.equal(lengths, length))
        places.append(at)
        found.append(_murmur2(keys.take(at), length))
    missing = pc.indices_nonzero(keys.is_null())
    hashes = pa.concat_arrays([*found, pa.nulls(len(missing), pa.uint32())])
    # Where each row's hash stands, row by row.
    order = pc.sort_indices(pa.concat_arrays([*places, missing]))
    positive = pc.bit_wise_and(hashes.take(order), pa.scalar(0x7FFFFFFF, pa.uint32())).cast(pa.int32())
    return pc.subtract(positive, pc.multiply(pc.divide(positive, count), count)).cast(pa.int32())


def _murmur2(keys: pa.Array, length: int) -> Any:
    """Java's `Utils.murmur2` of keys of one length; arithmetic of unsigned words wraps around."""
    mixed = pa.repeat(pa.scalar((_SEED ^ length) & 0xFFFFFFFF, pa.uint32()), len(keys))
    whole = length - length % _WORD
    for at in range(0, whole, _WORD):
        word = pc.multiply(_words(pc.binary_slice(keys, at, at + _WORD)), _M)
        mixed = pc.bit_wise_xor(pc.multiply(mixed, _M), pc.multiply(_shifted(word, 24), _M))
    if whole < length:
        padding = pa.scalar(bytes(_WORD - length % _WORD), keys.type)
        rest = pc.binary_join_element_wise(pc.binary_slice(keys, whole, length), padding, pa.scalar(b"", keys.type))
        mixed = pc.multiply(pc.bit_wise_xor(mixed, _words(rest)), _M)
    return _shifted(pc.multiply(_shifted(mixed, 13), _M), 15)


def _words(four_bytes: pa.Array) -> pa.Array:
    return four_bytes.cast(pa.binary(_WORD)).view(pa.uint32())


def _shifted(words: pa.Array, bits: int) -> pa.Array:
    return pc.bit_wise_xor(words, pc.shift_right(words, pa.scalar(bits, pa.uint32())))
