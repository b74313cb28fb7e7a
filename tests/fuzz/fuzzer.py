"""Change bytes at random, again and again, in search of an error that nobody raised on purpose.

What shows something new, an error or a line of code that raised it, is kept and changed further.
"""

from __future__ import annotations

import random
import time
import traceback
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

_LIMIT = 4096
_MAX_KEPT = 2000
_ODD = [0, 1, 2, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 2**63 - 1, 2**64 - 1]


@dataclass(frozen=True, slots=True)
class Target:
    """A reader of bytes that strangers, or broken disks, provide."""

    name: str
    read: Callable[[bytes], Hashable]
    """Its value is what tells one harmless input from another."""
    allowed: tuple[type[Exception], ...]
    """What it may raise."""
    repair: Callable[[bytes], bytes] | None = None
    """Makes a checksum right, so that what lies behind it is reached."""


@dataclass(slots=True)
class Found:
    """What a run came to."""

    runs: int = 0
    kept: list[bytes] = field(default_factory=list)
    failures: dict[str, bytes] = field(default_factory=dict)
    """By the place that raised: the bytes."""


def fuzz(target: Target, corpus: Sequence[bytes], seconds: float, seed: int) -> Found:
    """Feed a target for so many seconds; the corpus comes first, as it is."""
    chance, found, seen = random.Random(f"{target.name} {seed}"), Found(kept=list(corpus)), set()
    until = time.monotonic() + seconds
    for data in corpus:
        _try(target, data, found, seen)
    while time.monotonic() < until:
        for _ in range(200):
            data = mutated(chance, found.kept)
            if target.repair is not None and chance.random() < 0.7:
                data = target.repair(data)
            if _try(target, data, found, seen) and len(found.kept) < _MAX_KEPT:
                found.kept.append(data)
    return found


def _try(target: Target, data: bytes, found: Found, seen: set[tuple[object, ...]]) -> bool:
    """Whether it showed something new."""
    found.runs += 1
    try:
        value = target.read(data)
    except target.allowed as why:
        shown: tuple[object, ...] = (type(why), *_places(why))
    except Exception as why:  # noqa: BLE001 what is searched for
        shown = (type(why), *_places(why))
        if shown not in seen:
            found.failures["".join(traceback.format_exception(why))] = data
    else:
        shown = ("read", value)
    new = shown not in seen
    seen.add(shown)
    return new


def _places(why: BaseException) -> list[tuple[str, int]]:
    frames = traceback.extract_tb(why.__traceback__)[-3:]
    return [(Path(each.filename).name, each.lineno or 0) for each in frames]


def mutated(chance: random.Random, kept: Sequence[bytes]) -> bytes:
    """One of what is kept, changed in a few ways."""
    data = bytearray(chance.choice(kept))
    for _ in range(chance.choice((1, 1, 1, 2, 4, 8))):
        chance.choice(_CHANGES)(chance, data, kept)
    return bytes(data[:_LIMIT])


def _flip(chance: random.Random, data: bytearray, _: Sequence[bytes]) -> None:
    if data:
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)


def _number(chance: random.Random, data: bytearray, _: Sequence[bytes]) -> None:
    size = chance.choice((1, 2, 4, 8))
    at = chance.randrange(len(data) + 1)
    data[at : at + size] = (chance.choice(_ODD) & (1 << 8 * size) - 1).to_bytes(size, "big")


def _cut(chance: random.Random, data: bytearray, _: Sequence[bytes]) -> None:
    at = chance.randrange(len(data) + 1)
    del data[at : at + chance.choice((1, 2, 8, len(data)))]


def _insert(chance: random.Random, data: bytearray, _: Sequence[bytes]) -> None:
    at = chance.randrange(len(data) + 1)
    data[at:at] = chance.randbytes(chance.choice((1, 2, 4, 16)))


def _double(chance: random.Random, data: bytearray, _: Sequence[bytes]) -> None:
    at = chance.randrange(len(data) + 1)
    data[at:at] = data[at : at + chance.choice((1, 4, 16, 64))]


def _splice(chance: random.Random, data: bytearray, kept: Sequence[bytes]) -> None:
    other = chance.choice(kept)
    at = chance.randrange(len(data) + 1)
    data[at:] = other[chance.randrange(len(other) + 1) :]


_CHANGES = (_flip, _number, _cut, _insert, _double, _splice)
