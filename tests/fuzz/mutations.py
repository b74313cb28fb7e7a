"""Inputs near valid ones: the same sequence from the same seed."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence

from tests.fuzz.targets import Target

_WORD = re.compile(rb"[\w.-]+")
_NUMBERS = [0, 1, 2, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 2**63 - 1, 2**64 - 1]
_REPAIRED = 0.7
"""The share of inputs whose checksum is made right."""


def mutations(target: Target, samples: Sequence[bytes], seed: int) -> Iterator[bytes]:
    """As many inputs as the target wants, each a sample that was changed in one to eight places."""
    rng = random.Random(f"{target.name} {seed}")
    for _ in range(target.inputs):
        data = _mutated(rng, samples, target.words)[: target.limit]
        yield target.repair(data) if target.repair is not None and rng.random() < _REPAIRED else data


def _mutated(rng: random.Random, samples: Sequence[bytes], words: Sequence[bytes]) -> bytes:
    data = bytearray(rng.choice(samples))
    for _ in range(rng.choice((1, 1, 1, 2, 4, 8))):
        if words and rng.random() < 0.4:
            _put_word(rng, data, words)
        else:
            rng.choice(_CHANGES)(rng, data, samples)
    return bytes(data)


def _put_word(rng: random.Random, data: bytearray, words: Sequence[bytes]) -> None:
    """Replace a word or a number, or insert anywhere."""
    found = [each.span() for each in _WORD.finditer(data)]
    begin, end = rng.choice(found) if found and rng.random() < 0.8 else (rng.randrange(len(data) + 1),) * 2
    data[begin:end] = rng.choice(words)


def _flip_bit(rng: random.Random, data: bytearray, _: Sequence[bytes]) -> None:
    if data:
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def _write_number(rng: random.Random, data: bytearray, _: Sequence[bytes]) -> None:
    size = rng.choice((1, 2, 4, 8))
    at = rng.randrange(len(data) + 1)
    data[at : at + size] = (rng.choice(_NUMBERS) & (1 << 8 * size) - 1).to_bytes(size, "big")


def _add(rng: random.Random, data: bytearray, _: Sequence[bytes]) -> None:
    if data:
        at = rng.randrange(len(data))
        data[at] = (data[at] + rng.choice((-3, -2, -1, 1, 2, 3))) & 0xFF


def _cut(rng: random.Random, data: bytearray, _: Sequence[bytes]) -> None:
    at = rng.randrange(len(data) + 1)
    del data[at : at + rng.choice((1, 2, 8, len(data)))]


def _insert(rng: random.Random, data: bytearray, _: Sequence[bytes]) -> None:
    at = rng.randrange(len(data) + 1)
    data[at:at] = rng.randbytes(rng.choice((1, 2, 4, 16)))


def _repeat(rng: random.Random, data: bytearray, _: Sequence[bytes]) -> None:
    at = rng.randrange(len(data) + 1)
    data[at:at] = data[at : at + rng.choice((1, 4, 16, 64))]


def _splice(rng: random.Random, data: bytearray, samples: Sequence[bytes]) -> None:
    other = rng.choice(samples)
    at = rng.randrange(len(data) + 1)
    data[at:] = other[rng.randrange(len(other) + 1) :]


_CHANGES = (_flip_bit, _write_number, _add, _cut, _insert, _repeat, _splice)
