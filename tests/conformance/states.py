"""Bring a transactional id into a state, by the requests that lead there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw_memory.common.codes import Code

from .calls import Caller, commit_plain

WRITTEN = 7
"""Batches of one record that every open transaction has in its first partition: more than are remembered."""
_NEWER = 9
_BUMPING = 5
"""The version of EndTxn that gives the next epoch."""
OFFSET_BEFORE, OFFSET = 5, 7
SHORT = 5.0
"""Seconds after which a transaction is to time out: a busy machine has made it ready by then."""
STRANGER = ProducerIdAndEpoch(987_654, 0)


@dataclass(frozen=True, slots=True)
class Place:
    """The resources of one cell: an id, a group, a partition inside and one outside its transaction."""

    name: str
    group: str
    touched: TopicPartition
    other: TopicPartition


Driver = Callable[[Caller, Place], ProducerIdAndEpoch]
"""Leads to a state, and gives the producer that the client has in hand there."""


def unknown(caller: Caller, place: Place) -> ProducerIdAndEpoch:
    return STRANGER


def empty(caller: Caller, place: Place) -> ProducerIdAndEpoch:
    for _ in range(2):
        caller.init(place.name)
    return done(caller.init(place.name))


def empty_again(caller: Caller, place: Place) -> ProducerIdAndEpoch:
    """The holder named its epoch, so the one before is remembered."""
    return done(caller.init(place.name, empty(caller, place)))


def ongoing_old(caller: Caller, place: Place, timeout: float = 60.0) -> ProducerIdAndEpoch:
    """By a client of version 1, which adds each partition before it writes."""
    empty(caller, place)
    producer = done(caller.init(place.name, timeout=timeout))
    done_code(caller.add(place.name, producer, place.touched).code)
    for sequence in range(WRITTEN):
        done_code(caller.produce(place.name, producer, place.touched, sequence, 11).code)
    return producer


def ongoing(caller: Caller, place: Place, timeout: float = 60.0) -> ProducerIdAndEpoch:
    """By a client of version 2, which simply writes."""
    empty(caller, place)
    producer = done(caller.init(place.name, timeout=timeout))
    for sequence in range(WRITTEN):
        done_code(caller.produce(place.name, producer, place.touched, sequence, 12).code)
    return producer


def ended_old(*, commit: bool) -> Driver:
    def drive(caller: Caller, place: Place) -> ProducerIdAndEpoch:
        producer = ongoing_old(caller, place)
        done_code(caller.end(place.name, producer, 4, commit=commit).code)
        return producer

    return drive


def ended(*, commit: bool) -> Driver:
    def drive(caller: Caller, place: Place) -> ProducerIdAndEpoch:
        return done(caller.end(place.name, ongoing(caller, place), commit=commit))

    return drive


def aborted_empty(caller: Caller, place: Place) -> ProducerIdAndEpoch:
    """By a client of version 2 that aborts before anything was written."""
    return done(caller.end(place.name, empty(caller, place), commit=False))


def timed_out(caller: Caller, place: Place) -> ProducerIdAndEpoch:
    return ongoing(caller, place, SHORT)


def timed_out_old(caller: Caller, place: Place) -> ProducerIdAndEpoch:
    return ongoing_old(caller, place, SHORT)


def fenced(caller: Caller, place: Place) -> ProducerIdAndEpoch:
    """Another producer has asked for the id and must repeat its InitProducerId."""
    held = ongoing(caller, place)
    assert caller.init(place.name).code is Code.CONCURRENT_TRANSACTIONS
    return held


def replaced(caller: Caller, place: Place) -> ProducerIdAndEpoch:
    """Another producer owns the id."""
    held = fenced(caller, place)
    caller.settled(place.name)
    done(caller.init(place.name))
    return held


def last(caller: Caller, place: Place) -> ProducerIdAndEpoch:
    """At the last epoch of its producer id, which the preparation of the cells has reached."""
    return caller.settled(place.name)[1]


def last_ongoing(caller: Caller, place: Place) -> ProducerIdAndEpoch:
    producer = last(caller, place)
    done_code(caller.produce(place.name, producer, place.touched, 0, 12).code)
    return producer


def last_rotated(caller: Caller, place: Place) -> ProducerIdAndEpoch:
    """The answer, which names a new producer id, got lost."""
    producer = last_ongoing(caller, place)
    done(caller.end(place.name, producer))
    return producer


def last_fenced(caller: Caller, place: Place) -> ProducerIdAndEpoch:
    producer = last_ongoing(caller, place)
    assert caller.init(place.name).code is Code.CONCURRENT_TRANSACTIONS
    return producer


def with_offsets(before: Driver) -> Driver:
    """The transaction holds the group's offset, too, which was another one before."""

    def drive(caller: Caller, place: Place) -> ProducerIdAndEpoch:
        done_code(commit_plain(caller, place.group, place.touched, OFFSET_BEFORE).code)
        producer = before(caller, place)
        done_code(caller.add_offsets(place.name, producer, place.group).code)
        done_code(caller.commit_offsets(place.name, producer, place.group, place.touched, 3, offset=OFFSET).code)
        return producer

    return drive


def ended_with_offsets(before: Driver, version: int, *, commit: bool) -> Driver:
    def drive(caller: Caller, place: Place) -> ProducerIdAndEpoch:
        producer = with_offsets(before)(caller, place)
        answered = caller.end(place.name, producer, version, commit=commit)
        done_code(answered.code)
        return answered.producer if version >= _BUMPING else producer

    return drive


def prepared_with_refused_marker(version: int, *, commit: bool) -> Driver:
    """Decided, but the partition refuses the marker: a marker with a newer epoch ended the transaction there."""

    def drive(caller: Caller, place: Place) -> ProducerIdAndEpoch:
        producer = (ongoing_old if version == 1 else ongoing)(caller, place)
        newer = ProducerIdAndEpoch(producer.producer_id, producer.epoch + _NEWER)
        done_code(caller.mark(newer, place.touched, 0).code)
        done_code(caller.end(place.name, producer, 3 + version, commit=commit).code)
        return producer

    return drive


DRIVERS: Mapping[str, Driver] = {
    "unknown": unknown,
    "Empty": empty,
    "Empty, epoch named": empty_again,
    "Ongoing 1": ongoing_old,
    "Ongoing 2": ongoing,
    "CompleteCommit 1": ended_old(commit=True),
    "CompleteCommit 2": ended(commit=True),
    "CompleteAbort 1": ended_old(commit=False),
    "CompleteAbort 2": ended(commit=False),
    "CompleteAbort of nothing": aborted_empty,
    "CompleteAbort by timeout": timed_out,
    "CompleteAbort by timeout 1": timed_out_old,
    "CompleteAbort by fencing": fenced,
    "Empty after fencing": replaced,
    "PrepareCommit 1": prepared_with_refused_marker(1, commit=True),
    "PrepareCommit 2": prepared_with_refused_marker(2, commit=True),
    "PrepareAbort 1": prepared_with_refused_marker(1, commit=False),
    "PrepareAbort 2": prepared_with_refused_marker(2, commit=False),
    "Ongoing 1, offsets": with_offsets(ongoing_old),
    "Ongoing 2, offsets": with_offsets(ongoing),
    "CompleteCommit 1, offsets": ended_with_offsets(ongoing_old, 4, commit=True),
    "CompleteAbort 2, offsets": ended_with_offsets(ongoing, 5, commit=False),
    "Empty, last epoch": last,
    "Ongoing 2, last epoch": last_ongoing,
    "CompleteCommit 2, rotated": last_rotated,
    "CompleteAbort by fencing, last epoch": last_fenced,
}
"""States by name; 1 and 2 say by the requests of which version of transactions they were reached."""
TIMED = frozenset({"CompleteAbort by timeout", "CompleteAbort by timeout 1"})
OFFSETS = frozenset(name for name in DRIVERS if name.endswith("offsets"))
"""States in which it is told, too, what the group has committed."""
LAST = frozenset(name for name in DRIVERS if "last epoch" in name or "rotated" in name)
"""States that need some 32,000 requests to get to."""
STUCK = frozenset(name for name in DRIVERS if name.startswith("Prepare"))
"""States that last only because no marker can be written."""
OF_THE_BROKER = TIMED | {"CompleteAbort by fencing", "Empty after fencing"}
"""States that the broker's own version of transactions makes different."""


def done(answered: object) -> ProducerIdAndEpoch:
    """The producer of an answer that must be without error."""
    done_code(answered.code)  # type: ignore[attr-defined]
    return answered.producer  # type: ignore[attr-defined, no-any-return]


def done_code(code: Code) -> None:
    if code is not Code.NONE:
        raise AssertionError(f"a step on the way to a state was refused: {code!r}")
