"""Change bytes at random, again and again, in search of an error that nobody raised on purpose.

What shows something new is kept and changed further: a line or a branch that never ran before (see `coverage`), an
error from a place that never raised it, another value.
"""

from __future__ import annotations

import random
import re
import time
import traceback
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field

from tests.fuzz.coverage import Coverage

_LIMIT = 4096
_MAX_KEPT = 2000
_LATEST = 32
_WORD = re.compile(rb"[\w.-]+")
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
    limit: int = _LIMIT
    """How many bytes are tried at most."""
    words: tuple[bytes, ...] = ()
    """What stands for something in its bytes, where they are text."""
    samples: Callable[[], Sequence[bytes]] = tuple
    """Where to start from besides the files of the corpus."""
    together: int = 200
    """How many are tried between two looks at the clock."""


@dataclass(slots=True)
class Found:
    """What a run came to."""

    runs: int = 0
    places: int = 0
    """Lines and branches that ran; 0 where this Python cannot tell."""
    kept: list[bytes] = field(default_factory=list)
    failures: dict[str, bytes] = field(default_factory=dict)
    """By the place that raised: the bytes."""


Clock = Callable[[], float]


def fuzz(target: Target, corpus: Sequence[bytes], seconds: float, seed: int, clock: Clock = time.process_time) -> Found:
    """Feed a target for so many seconds of the clock; the corpus comes first, as it is."""
    with Coverage(_of_interest) as coverage:
        run = _Run(target, coverage, Found(kept=list(corpus)), random.Random(f"{target.name} {seed}"))
        for data in corpus:
            run.shows_something(data)
        until = clock() + seconds
        while clock() < until:
            for _ in range(target.together):
                run.go_on()
    run.found.places = coverage.places
    return run.found


def _of_interest(file: str) -> bool:
    return "/src/eosfw" in file or "/kio/" in file


class _Run:
    """One search, as far as it has come."""

    def __init__(self, target: Target, coverage: Coverage, found: Found, chance: random.Random) -> None:
        self.found = found
        self._target = target
        self._coverage = coverage
        self._chance = chance
        self._seen: set[tuple[object, ...]] = set()

    def go_on(self) -> None:
        """Try one more."""
        kept, target, chance = self.found.kept, self._target, self._chance
        data = mutated(chance, kept, target.words)[: target.limit]
        if target.repair is not None and chance.random() < 0.7:
            data = target.repair(data)
        if self.shows_something(data) and len(kept) < _MAX_KEPT:
            kept.append(data)

    def shows_something(self, data: bytes) -> bool:
        """Whether bytes show something new."""
        found, ran = self.found, self._coverage.places
        found.runs += 1
        try:
            shown: tuple[object, ...] = ("read", self._target.read(data))
        except self._target.allowed as why:
            shown = (type(why), *_places(why))
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as why:  # noqa: BLE001 what is searched for; a panic of Rust's is no Exception
            shown = (type(why), *_places(why))
            if shown not in self._seen:
                found.failures["".join(traceback.format_exception(why))] = data
        new = shown not in self._seen or self._coverage.places > ran
        self._seen.add(shown)
        return new


def _places(why: BaseException) -> list[tuple[str, int]]:
    """Where it was raised, with the last callers; `traceback` would look up columns, too, which takes longer."""
    places, at = [], why.__traceback__
    while at is not None:
        places.append((at.tb_frame.f_code.co_qualname, at.tb_lineno))
        at = at.tb_next
    return places[-3:]


def mutated(chance: random.Random, kept: Sequence[bytes], words: Sequence[bytes] = ()) -> bytes:
    """One of what is kept, as often as not of the latest, changed in a few ways."""
    data = bytearray(chance.choice(kept if chance.random() < 0.5 else kept[-_LATEST:]))
    for _ in range(chance.choice((1, 1, 1, 2, 4, 8))):
        if words and chance.random() < 0.4:
            _put_word(chance, data, words)
        else:
            chance.choice(_CHANGES)(chance, data, kept)
    return bytes(data)


def _put_word(chance: random.Random, data: bytearray, words: Sequence[bytes]) -> None:
    """In the place of a word or a number, or anywhere."""
    found = [each.span() for each in _WORD.finditer(data)]
    begin, end = chance.choice(found) if found and chance.random() < 0.8 else (chance.randrange(len(data) + 1),) * 2
    data[begin:end] = chance.choice(words)


def _flip(chance: random.Random, data: bytearray, _: Sequence[bytes]) -> None:
    if data:
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)


def _number(chance: random.Random, data: bytearray, _: Sequence[bytes]) -> None:
    size = chance.choice((1, 2, 4, 8))
    at = chance.randrange(len(data) + 1)
    data[at : at + size] = (chance.choice(_ODD) & (1 << 8 * size) - 1).to_bytes(size, "big")


def _add(chance: random.Random, data: bytearray, _: Sequence[bytes]) -> None:
    if data:
        at = chance.randrange(len(data))
        data[at] = (data[at] + chance.choice((-3, -2, -1, 1, 2, 3))) & 0xFF


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


_CHANGES = (_flip, _number, _add, _cut, _insert, _double, _splice)
