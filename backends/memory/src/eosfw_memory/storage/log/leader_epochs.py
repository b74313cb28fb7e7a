"""The leader epochs of a log with their offsets (KIP-101), by which clients notice truncation (KIP-320).

Kafka's `LeaderEpochFileCache`, as functions over lists.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Final, NamedTuple

NO_LEADER: Final = -1
LEADER_EPOCHS_PER_START: Final = 2
"""As in Kafka's KRaft mode: an epoch begins when the only replica goes, another when it is back."""


class EpochStart(NamedTuple):
    """A leader epoch with the offset at which it began."""

    epoch: int
    start_offset: int


class EpochEnd(NamedTuple):
    """A leader epoch with the offset behind its last record."""

    epoch: int
    end_offset: int


UNDEFINED: Final = EpochEnd(NO_LEADER, -1)
"""The answer for an epoch that this log does not know."""


def following(histories: Iterable[Iterable[EpochStart]]) -> Iterator[EpochStart]:
    """Join the histories of successive segments: most begin in the epoch in which the one before ended."""
    before = NO_LEADER
    for history in histories:
        for start in history:
            if start.epoch != before:
                yield start
            before = start.epoch


def within(history: Iterable[EpochStart], log_start: int) -> list[EpochStart]:
    """The history from the start of the log on, at which its first epoch then begins."""
    starts = list(history)
    first = max(bisect_right(starts, log_start, key=attrgetter("start_offset")) - 1, 0)
    return [EpochStart(one.epoch, max(one.start_offset, log_start)) for one in starts[first:]]


def end_of(history: Sequence[EpochStart], wanted: int, log_end: int) -> EpochEnd:
    """The end of an epoch. Kafka's `LeaderEpochFileCache.endOffsetFor`.

    For an epoch without records it is the end of the epoch before it; for one whose records were all deleted, the start
    of the log.
    """
    if wanted == NO_LEADER or not history or wanted > history[-1].epoch:
        return UNDEFINED
    behind = bisect_right(history, wanted, key=attrgetter("epoch"))
    if behind == len(history):
        return EpochEnd(wanted, log_end)
    known = history[behind - 1].epoch if behind else wanted
    return EpochEnd(known, history[behind].start_offset)
