"""The records of ranges, whatever happens to their logs meanwhile (Spark's `KafkaBatchPartitionReader`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace

from eosfw.errors import DamagedDataError, ReadStalledError, UnknownTopicOrPartitionError
from eosfw.ids import TopicPartition
from eosfw.protocols import Admin, Gap, IsolationLevel, IsolationReader
from eosfw.records import LogBatch, OffsetRange
from eosfw_spark.source.data_loss import (
    DataLoss,
    DataLossReason,
    TopicIds,
    find_data_losses,
    loss_of_gap,
    report_data_losses,
)
from eosfw_spark.source.offset_ranges import Split

_SIGNS = (DamagedDataError, UnknownTopicOrPartitionError, ReadStalledError)
"""How a read ends whose records are gone; each has other causes, too."""


class SplitReader:
    """Reads splits; of what was lost it makes an error, or a warning before it reads the rest."""

    def __init__(self, reader: IsolationReader, make_admin: Callable[[], Admin], *, fail_on_data_loss: bool) -> None:
        self._reader = reader
        self._make_admin = make_admin
        self._fail = fail_on_data_loss
        self._position = 0

    def read(self, splits: Sequence[Split], stall_timeout: float) -> Iterator[LogBatch]:
        """The visible records, split by split; DamagedDataError if some were lost and `failOnDataLoss` is true."""
        for split in splits:
            yield from self._read_to_end(split, stall_timeout)
        self._require_same_topics(splits)

    def _read_to_end(self, split: Split, stall_timeout: float) -> Iterator[LogBatch]:
        self._position = split.offsets.start
        while self._position < split.offsets.end:
            try:
                yield from self._shown(split, stall_timeout)
            except _SIGNS:
                loss = self._loss(split)
                if loss is None:
                    raise
                report_data_losses([loss], fail=self._fail)
                # The records of a topic that was created again were not planned: another split would read them, too.
                self._position = split.offsets.end if loss.resume is None else loss.resume
            else:
                break

    def _shown(self, split: Split, stall_timeout: float) -> Iterator[LogBatch]:
        rest = OffsetRange(self._position, split.offsets.end)
        for each in self._reader.read({split.partition: rest}, stall_timeout):
            if isinstance(each, LogBatch):
                self._position = each.offsets[-1] + 1
                yield each
            else:
                self._position = each.offsets.end
                self._report(each)

    def _report(self, gap: Gap) -> None:
        if loss := loss_of_gap(gap):
            report_data_losses([loss], fail=self._fail)

    def _loss(self, split: Split) -> DataLoss | None:
        """What was lost at the position, by what the cluster says of the partition now; None if nothing was."""
        with closing(self._make_admin()) as admin:
            topic = split.partition.topic
            known: TopicIds = {} if split.topic_id is None else {topic: split.topic_id}
            ids, log = admin.topic_ids([topic]), _log(admin, split.partition)
        for loss in find_data_losses({split.partition: self._position}, log, known, ids):
            return loss if loss.reason is DataLossReason.DELETED else replace(loss, resume=None)
        return None

    def _require_same_topics(self, splits: Sequence[Split]) -> None:
        known = [each for each in splits if each.topic_id is not None]
        if not known:
            return
        with closing(self._make_admin()) as admin:
            now = admin.topic_ids(list({each.partition.topic: None for each in known}))
        replaced = [each for each in known if now.get(each.partition.topic, each.topic_id) != each.topic_id]
        losses = [DataLoss(each.partition, DataLossReason.REPLACED, each.offsets.start) for each in replaced]
        report_data_losses(losses, fail=self._fail)


def _log(admin: Admin, partition: TopicPartition) -> dict[TopicPartition, OffsetRange]:
    """The offsets of all that a partition holds, committed or not; nothing if it does not exist."""
    if partition.partition >= admin.partitions([partition.topic]).get(partition.topic, 0):
        return {}
    end = admin.end_offsets([partition], IsolationLevel.READ_UNCOMMITTED)[partition]
    start = admin.log_start_offsets([partition])[partition]
    return {partition: OffsetRange(start, max(start, end))}
