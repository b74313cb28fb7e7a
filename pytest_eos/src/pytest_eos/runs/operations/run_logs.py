"""The topics that a run has left, each of them read once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Final

from eosfw.errors import EosfwError
from eosfw.ids import TopicPartition
from eosfw.protocols import IsolationLevel, LogReader
from eosfw.records import LogBatch, OffsetRange
from pytest_eos.runs.operations.stored_log import StoredLog
from pytest_eos.runs.run import Ranges, Run

TRANSACTION_LOG: Final = "__transaction_state"


@dataclass(frozen=True, slots=True)
class RunLogs:
    """What the checker needs of the cluster of a run that is over.

    Clients are few and shared: to make one takes as long as to read the topic of a small run.
    """

    ranges: Ranges
    """The run's topics, up to their high watermarks."""
    stable: Mapping[TopicPartition, int]
    """Their last stable offsets."""
    written: list[LogBatch]
    """All records of the run's topics, of aborted and open transactions, too; empty if all of them are visible."""
    configs: list[LogBatch]
    """The committed records of the config topic."""
    transactions: list[LogBatch]
    """The log of transactions; empty where it cannot be read."""
    offsets: list[LogBatch]
    """All source offsets that the run's tasks sent, of aborted and open transactions, too."""
    stored: StoredLog
    """The batches of the run's topics, and of the config topic, as the broker stores them."""

    @classmethod
    def read(cls, run: Run, visible: Mapping[TopicPartition, int], *, transaction_log: bool) -> RunLogs:
        """Read everything; `visible` has the number of visible records of each partition."""
        eos, patience = run.eos, run.eos.settings.patience
        config = TopicPartition(run.group.local.config["config.storage.topic"], 0)
        with closing(eos.backend.admin()) as admin:
            counts = admin.partitions([*run.topics, *([TRANSACTION_LOG] if transaction_log else [])])
            ones = [TopicPartition(topic, number) for topic, count in counts.items() for number in range(count)]
            sent = _ranges_of(run)
            starts = admin.log_start_offsets([*ones, config, *sent])
            ends = admin.end_offsets([*ones, config, *sent], IsolationLevel.READ_UNCOMMITTED)
            stable = admin.end_offsets([*ones, config], IsolationLevel.READ_COMMITTED)
        own = {one: OffsetRange(since.start, ends[one]) for one, since in run.ranges().items()}
        configs = {config: OffsetRange(starts[config], stable[config])}
        states = {
            one: OffsetRange(starts[one], ends[one])
            for one in ones
            if one.topic == TRANSACTION_LOG and starts[one] < ends[one]
        }
        offsets = {
            one: OffsetRange(max(starts[one], wanted.start), min(ends[one], wanted.end))
            for one, wanted in sent.items()
            if max(starts[one], wanted.start) < min(ends[one], wanted.end)
        }
        stored = StoredLog(run, {**own, **configs})
        with closing(eos.backend.reader(IsolationLevel.READ_UNCOMMITTED, headers=True)) as reader:
            whole = all(stored.records(one) == visible.get(one, 0) for one in own)
            written = [] if whole else list(reader.read(own, patience))
            transactions = list(_readable(reader, states, patience))
            source_offsets = list(_readable(reader, offsets, patience))
        with closing(eos.backend.reader(IsolationLevel.READ_COMMITTED)) as reader:
            committed = list(reader.read(configs, patience))
        return cls(own, {one: stable[one] for one in own}, written, committed, transactions, source_offsets, stored)


def _ranges_of(run: Run) -> Ranges:
    """Where the source offsets are that the run's tasks sent."""
    places: dict[TopicPartition, list[int]] = defaultdict(list)
    for (topic, partition, offset), author in run.eos.authors.offset_places().items():
        if author.task.connector == run.name:
            places[TopicPartition(topic, partition)].append(offset)
    return {one: OffsetRange(min(offsets), max(offsets) + 1) for one, offsets in places.items()}


def _readable(reader: LogReader, ranges: Ranges, patience: float) -> Iterator[LogBatch]:
    try:
        yield from reader.read(ranges, patience)
    except EosfwError:  # the cluster may not let a test read it
        return
