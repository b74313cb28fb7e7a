"""Compare every committed source offset with the record that it belongs to."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import NamedTuple

from eosfw.identity import identity_headers, identity_of
from eosfw.ids import TopicPartition
from eosfw.protocols import IsolationLevel, LogReader
from eosfw.records import LogBatch, OffsetRange, SourceOffset, SourcePartition, SourceRecord
from pytest_eos.runs.identities import expected_identity, seen_identity
from pytest_eos.runs.run import Run

_KIND = "headers"


class CommittedOffset(NamedTuple):
    """A source offset that is visible in the offsets topic, with its place there."""

    partition: SourcePartition
    offset: SourceOffset
    place: str

    def __str__(self) -> str:
        partition, offset = (json.dumps(dict(one), separators=(",", ":")) for one in (self.partition, self.offset))
        return f"{offset} of {partition} at {self.place}"


def offsets_without_records(run: Run, sources: Sequence[SourceRecord]) -> list[CommittedOffset]:
    """Committed offsets whose own record is not visible.

    `sources` is a replay up to the committed offsets. An offset that is not in it belongs to no record
    that could be missing.
    """
    missing = _expected_identities(run, sources) - _visible_identities(run)
    return [one for one in committed_offsets(run) if _identity(run, one) in missing]


def offsets_moved_back(run: Run, sources: Sequence[SourceRecord]) -> list[CommittedOffset]:
    """Committed offsets beyond the last committed one, whose records are visible: a later offset moved back."""
    beyond = _visible_identities(run) - _expected_identities(run, sources)
    return [one for one in committed_offsets(run) if _identity(run, one) in beyond]


def committed_offsets(run: Run) -> Iterator[CommittedOffset]:
    """Each committed offset of a run's connector in the offsets topic, by partition, in order."""
    local, store = run.group.local, run.offset_store()
    topic = run.properties.get("offsets.storage.topic", local.config["offset.storage.topic"])
    with closing(run.eos.backend.reader(IsolationLevel.READ_COMMITTED)) as reader:
        for one in _single_record_batches(reader, run, topic):
            for partition, offset in store.decode(run.name, [one]).values():
                yield CommittedOffset(partition, offset, f"{topic}-{one.partition}@{one.offsets[0]}")


def _single_record_batches(reader: LogReader, run: Run, topic: str) -> Iterator[LogBatch]:
    """The topic's records, each as a batch of its own, because a store folds all records that it gets at once."""
    for batch in reader.read(_ranges(run, topic), run.eos.settings.patience):
        columns = zip(batch.offsets, batch.keys, batch.values, batch.timestamps, strict=True)
        for offset, key, value, timestamp in columns:
            yield LogBatch(topic, batch.partition, [offset], [key], [value], [timestamp])


def _ranges(run: Run, topic: str) -> dict[TopicPartition, OffsetRange]:
    with closing(run.eos.backend.admin()) as admin:
        ones = [TopicPartition(topic, number) for number in range(admin.partitions([topic]).get(topic, 0))]
        starts, ends = admin.log_start_offsets(ones), admin.end_offsets(ones, IsolationLevel.READ_COMMITTED)
    return {one: OffsetRange(starts[one], ends[one]) for one in ones if starts[one] < ends[one]}


def _expected_identities(run: Run, sources: Sequence[SourceRecord]) -> set[bytes]:
    return {expected_identity(one, _KIND, run.name) for one in sources}


def _visible_identities(run: Run) -> set[bytes]:
    return {seen_identity(record, _KIND) for record in run.records()}


def _identity(run: Run, one: CommittedOffset) -> bytes:
    return identity_of(None, identity_headers(run.name, one.partition, one.offset), _KIND)
