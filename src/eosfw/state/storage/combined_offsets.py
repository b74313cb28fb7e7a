"""The offsets of a connector in its own offsets topic and the worker's: how they are read, and written (KIP-618).

The connector's own topic wins, key by key; a key that it does not have falls back to the worker's topic. A null in the
connector's own topic is a statement, too: it hides an older offset that the worker's topic still holds, as a copy does
that was late or a crash between the two topics leaves behind. Compaction removes the null some day, so whoever finds a
hidden offset should delete it from the worker's topic.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from eosfw.records import LogBatch, SourceOffset, SourcePartition

StoredOffsets = Mapping[str, tuple[SourcePartition, SourceOffset]]
"""Offsets with their source partitions, by `OffsetStore.partition_key`."""
Decode = Callable[[Iterable[LogBatch]], StoredOffsets]
"""`OffsetStore.decode` for one connector."""
OffsetChange = tuple[SourcePartition, SourceOffset | None]
"""A source partition with its new offset; None forgets it."""


@dataclass(frozen=True, slots=True)
class CombinedOffsets:
    """What two topics say of a connector's offsets."""

    own: StoredOffsets
    """By the connector's own topic."""
    worker: StoredOffsets
    """By the worker's topic, without what a null in the connector's own topic hides."""
    hidden: Sequence[bytes] = ()
    """Record keys of the worker's topic whose offsets are hidden."""

    def offsets(self) -> StoredOffsets:
        """What the connector gets."""
        return {**self.worker, **self.own}


def combine_offsets(decode: Decode, own: Iterable[LogBatch], worker: Iterable[LogBatch]) -> CombinedOffsets:
    """Fold the committed records of both topics, each in order."""
    own = list(own)
    # By the bytes of the key: a null belongs to the spelling of a partition under which it was written.
    forgotten = {key for key, value in _latest(own).items() if value is None}
    hidden: dict[bytes, bytes | None] = {}
    fallback = decode(_without(forgotten, worker, hidden))
    return CombinedOffsets(decode(own), fallback, [key for key, value in hidden.items() if value is not None])


def _latest(batches: Iterable[LogBatch]) -> dict[bytes, bytes | None]:
    return {
        key: value for batch in batches for key, value in zip(batch.keys, batch.values, strict=True) if key is not None
    }


def _without(keys: set[bytes], batches: Iterable[LogBatch], removed: dict[bytes, bytes | None]) -> Iterator[LogBatch]:
    """The records with other keys; `removed` gets the newest value under each of these keys."""
    for batch in batches:
        at = [number for number, key in enumerate(batch.keys) if key not in keys]
        if len(at) < len(batch):
            removed |= {key: value for key, value in _latest([batch]).items() if key in keys}
            yield _chosen(batch, at)
        else:
            yield batch


def _chosen(batch: LogBatch, at: Sequence[int]) -> LogBatch:
    return LogBatch(
        batch.topic,
        batch.partition,
        [batch.offsets[number] for number in at],
        [batch.keys[number] for number in at],
        [batch.values[number] for number in at],
        [batch.timestamps[number] for number in at],
    )


# --- the order of writes (KAFKA-15018)


@dataclass(frozen=True, slots=True)
class OffsetWritePlan:
    """The writes to the worker's topic around the commit, which writes every change to the connector's own topic."""

    before: Sequence[OffsetChange]
    """Forgotten offsets. A failure is reported, and nothing is committed: otherwise the offset in the worker's topic
    would come back once the connector's own topic has forgotten that it forgot it."""
    after: Sequence[OffsetChange]
    """Copies. A failure is counted; the next copy heals it."""
    forgotten_after: Sequence[OffsetChange]
    """Forgotten offsets that the worker's topic alone had. Before the commit they must stay, since a crash between the
    two would leave the offset nowhere, and the source would be read from its beginning."""


def plan_offset_writes(
    changes: Sequence[OffsetChange], key_of: Callable[[SourcePartition], str], own: Collection[str]
) -> OffsetWritePlan:
    """The plan for some changes; `own` has the keys of the partitions that the connector's own topic has."""
    forgotten = [change for change in changes if change[1] is None]
    return OffsetWritePlan(
        before=[change for change in forgotten if key_of(change[0]) in own],
        after=[change for change in changes if change[1] is not None],
        forgotten_after=[change for change in forgotten if key_of(change[0]) not in own],
    )


# --- before an upgrade


@dataclass(frozen=True, slots=True)
class StaleOffset:
    """An offset of a connector's own topic that is older than the one in the worker's topic."""

    partition: SourcePartition
    own: SourceOffset
    worker: SourceOffset


def stale_offsets(decode: Decode, own: Iterable[LogBatch], worker: Iterable[LogBatch]) -> Sequence[StaleOffset]:
    """Offsets that other software moved on in the worker's topic alone (KIP-618, re-upgrade after a hard downgrade).

    They are newer, yet the older ones in the connector's own topic would win, and records would be sent again. What the
    connector's own topic also had at some time is a copy that is merely late.
    """
    stated = _statements(decode, own)
    newest = {one.key: one for one in stated}
    known = [(one.key, one.offset) for one in stated]
    return [
        StaleOffset(one.partition, newest[one.key].offset, one.offset)
        for one in {one.key: one for one in _statements(decode, worker)}.values()
        if one.key in newest and one.timestamp > newest[one.key].timestamp and (one.key, one.offset) not in known
    ]


@dataclass(frozen=True, slots=True)
class _Statement:
    """One record that states an offset."""

    key: str
    partition: SourcePartition
    offset: SourceOffset
    timestamp: int


def _statements(decode: Decode, batches: Iterable[LogBatch]) -> Sequence[_Statement]:
    """Every offset that was ever stated, as far as compaction left it, in the order of time."""
    found = [
        _Statement(key, partition, offset, batch.timestamps[number])
        for batch in batches
        for number in range(len(batch))
        for key, (partition, offset) in decode([_chosen(batch, [number])]).items()
    ]
    return sorted(found, key=lambda one: one.timestamp)
