"""The records of ranges, whatever happens to their logs meanwhile (Spark's `KafkaBatchPartitionReader`)."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace

from eosfw.errors import DamagedDataError, EosfwError, ReadStalledError, RetriableError, UnknownTopicOrPartitionError
from eosfw.ids import TopicPartition
from eosfw.protocols import Admin, Gap, IsolationLevel
from eosfw.records import LogBatch, OffsetRange
from eosfw_spark.source.data_loss import (
    DataLoss,
    DataLossReason,
    TopicIds,
    find_data_losses,
    loss_of_gap,
    report_data_losses,
    same_topic,
)
from eosfw_spark.source.offset_ranges import Split

_SIGNS = (DamagedDataError, UnknownTopicOrPartitionError, ReadStalledError)
"""How a read ends whose records are gone; each has other causes, too."""

Read = Callable[[Mapping[TopicPartition, OffsetRange], float], Iterator[LogBatch | Gap]]
"""The method `read` or `read_arrow` of an isolation reader."""


class SplitReader:
    """Reads splits; of what was lost it makes an error, or a warning before it reads the rest."""

    def __init__(
        self,
        read: Read,
        open_admin: Callable[[], AbstractContextManager[Admin]],
        *,
        fail_on_data_loss: bool,
    ) -> None:
        self._read = read
        self._open_admin = open_admin
        self._fail = fail_on_data_loss
        self._positions: dict[TopicPartition, int] = {}

    def read(self, splits: Sequence[Split], stall_timeout: float) -> Generator[LogBatch]:
        """The visible records of splits of different partitions, in the order in which they come.

        Raises DamagedDataError if some were lost and `failOnDataLoss` is true. If it is false, a topic that was created
        again since the plan is left out; RetriableError if that happens during the read, whose records nobody can tell
        from the old ones.
        """
        if not self._fail:
            splits = self._of_same_topics(splits)
        self._positions = {each.partition: each.offsets.start for each in splits}
        while rest := [each for each in splits if self._positions[each.partition] < each.offsets.end]:
            try:
                yield from self._shown(rest, stall_timeout)
            except _SIGNS as why:
                self._note_positions(why)
                losses = {each: loss for each in rest if (loss := self._loss(each)) is not None}
                if not losses:
                    raise
                report_data_losses(list(losses.values()), fail=self._fail)
                # The records of a topic that was created again were not planned: another split would read them, too.
                for each, loss in losses.items():
                    self._positions[each.partition] = each.offsets.end if loss.resume is None else loss.resume
            else:
                break
        self._require_same_topics(splits)

    def _shown(self, splits: Sequence[Split], stall_timeout: float) -> Iterator[LogBatch]:
        rest = {each.partition: OffsetRange(self._positions[each.partition], each.offsets.end) for each in splits}
        for each in self._read(rest, stall_timeout):
            if isinstance(each, LogBatch):
                self._positions[TopicPartition(each.topic, each.partition)] = each.offsets[-1] + 1
                yield each
            else:
                self._positions[each.partition] = each.offsets.end
                self._report(each)

    def _report(self, gap: Gap) -> None:
        if loss := loss_of_gap(gap):
            report_data_losses([loss], fail=self._fail)

    def _note_positions(self, why: EosfwError) -> None:
        """Take over how far a stalled read came: the offsets behind its last record are hidden, not lost."""
        for topic, partition, offset in why.waiting if isinstance(why, ReadStalledError) else ():
            self._positions[TopicPartition(topic, partition)] = offset

    def _loss(self, split: Split) -> DataLoss | None:
        """What was lost at the position, by what the cluster says of the partition now; None if nothing was."""
        with self._open_admin() as admin:
            topic = split.partition.topic
            known: TopicIds = {} if split.topic_id is None else {topic: split.topic_id}
            ids, log = admin.topic_ids([topic]), _log(admin, split.partition)
        position = self._positions[split.partition]
        for loss in find_data_losses({split.partition: position}, log, known, ids):
            return loss if loss.reason is DataLossReason.DELETED else replace(loss, resume=None)
        if log[split.partition].end == position:
            return DataLoss(split.partition, DataLossReason.TRUNCATED, position, split.offsets.end)
        return None

    def _of_same_topics(self, splits: Sequence[Split]) -> Sequence[Split]:
        """The splits without those of topics that were created again; their records are for the next plan."""
        losses = self._replaced(splits)
        report_data_losses(losses, fail=False)
        left_out = {loss.partition for loss in losses}
        return [each for each in splits if each.partition not in left_out]

    def _require_same_topics(self, splits: Sequence[Split]) -> None:
        losses = self._replaced(splits)
        if losses and not self._fail:
            raise RetriableError(
                f"the topic of {losses[0].partition} was created again while it was read: read it again"
            )
        report_data_losses(losses, fail=True)

    def _replaced(self, splits: Sequence[Split]) -> Sequence[DataLoss]:
        known = [each for each in splits if each.topic_id is not None]
        if not known:
            return []
        with self._open_admin() as admin:
            now = admin.topic_ids(list({each.partition.topic: None for each in known}))
        replaced = [each for each in known if same_topic(each.topic_id, now.get(each.partition.topic)) is False]
        return [DataLoss(each.partition, DataLossReason.REPLACED, each.offsets.start) for each in replaced]


def _log(admin: Admin, partition: TopicPartition) -> dict[TopicPartition, OffsetRange]:
    """The offsets of all that a partition holds, committed or not; nothing if it does not exist."""
    if partition.partition >= admin.partitions([partition.topic]).get(partition.topic, 0):
        return {}
    end = admin.end_offsets([partition], IsolationLevel.READ_UNCOMMITTED)[partition]
    start = admin.log_start_offsets([partition])[partition]
    return {partition: OffsetRange(start, max(start, end))}
