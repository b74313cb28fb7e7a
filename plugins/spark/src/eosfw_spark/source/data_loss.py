"""What a read lost: records that it was to read and that no partition has any more (Spark's `failOnDataLoss`).

Offsets without records are no loss where control records, aborted transactions or compaction explain them: a reader
tells them as gaps. What is lost is told by the bounds of a partition's log and by the id of its topic (KIP-516).
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from eosfw.errors import DamagedDataError
from eosfw.ids import TopicPartition, uuid_text
from eosfw.protocols import Gap, GapReason
from eosfw.records import OffsetRange
from eosfw_spark.source.offset_range_limit import Offsets

logger = logging.getLogger(__name__)
TopicIds = Mapping[str, str]
"""The id of each topic (`Admin.topic_ids`)."""
_NO_IDS: Final[TopicIds] = {}
_ZERO: Final = uuid_text(None)
"""What brokers before Kafka 2.8 say of every topic: they have no ids."""
_URL_SAFE: Final = str.maketrans("+/", "-_")


class DataLossReason(Enum):
    """Why records are not there any more, for the sentence about them."""

    DELETED = "retention or DeleteRecords took them before they were read"
    TRUNCATED = "its log ends before them: they never were, or it was cut, or its topic was deleted and created again"
    REPLACED = "its topic was deleted and created again"
    GONE = "it does not exist any more"


@dataclass(frozen=True, slots=True)
class DataLoss:
    """Records of one partition that a read was to show and cannot."""

    partition: TopicPartition
    reason: DataLossReason
    start: int
    """The first offset that was to be read."""
    end: int | None = None
    """The offset behind the last one that was lost; None if nobody can tell how many there were."""
    resume: int | None = None
    """Where the records begin that are left; None if none are."""

    def __str__(self) -> str:
        return f"{self.partition} lost {self._offsets()}: {self.reason.value}; {self._remedy()}"

    def warning(self) -> str:
        """The sentence for a read that goes on."""
        goes_on = "nothing is left to read" if self.resume is None else f"reading goes on at {self.resume}"
        return f"{self.partition} lost {self._offsets()}: {self.reason.value}; failOnDataLoss is false: {goes_on}"

    def _offsets(self) -> str:
        if self.end is None:
            return f"its records from offset {self.start} on"
        last = self.end - 1
        return f"its offset {last}" if last == self.start else f"its offsets {self.start} to {last}"

    def _remedy(self) -> str:
        left = "without it" if self.resume is None else f"at offset {self.resume}"
        advice = f"set failOnDataLoss to false to go on {left}"
        if self.reason is DataLossReason.DELETED:
            return f"{advice}, and raise the topic's retention.ms or retention.bytes, or read more often"
        return f"{advice}, or restore the records and try again"


def find_data_losses(
    positions: Offsets,
    bounds: Mapping[TopicPartition, OffsetRange],
    known: TopicIds = _NO_IDS,
    current: TopicIds = _NO_IDS,
) -> Sequence[DataLoss]:
    """What was lost of partitions whose next offsets to read are `positions`, by what the cluster says of them now.

    `known` are the topics' ids as they were when the positions were reached, `current` those of now: where both have a
    topic, one that was created again is found even if its log is long enough.
    """
    found = []
    for partition, position in sorted(positions.items()):
        old, new = known.get(partition.topic), current.get(partition.topic)
        if loss := _loss(partition, position, bounds.get(partition), same=same_topic(old, new)):
            found.append(loss)
    return found


def same_topic(old: str | None, new: str | None) -> bool | None:
    """Whether two ids are of one topic; None if nobody can tell."""
    one, other = known_id(old), known_id(new)
    return None if one is None or other is None else one == other


def known_id(topic_id: str | None) -> str | None:
    """An id in the base64 of Kafka's tools; None for a topic whose id nobody knows.

    Tokens and offsets that were written with librdkafka's ids have another base64.
    """
    return None if topic_id in (None, _ZERO) else topic_id.translate(_URL_SAFE)


def _loss(partition: TopicPartition, position: int, log: OffsetRange | None, *, same: bool | None) -> DataLoss | None:
    if log is None:
        return DataLoss(partition, DataLossReason.GONE, position)
    if same is False:
        return DataLoss(partition, DataLossReason.REPLACED, position, resume=log.start)
    if position > log.end:
        # If it may be another log, then all of it is new.
        return DataLoss(partition, DataLossReason.TRUNCATED, log.end, position, log.end if same else log.start)
    if position < log.start:
        return DataLoss(partition, DataLossReason.DELETED, position, log.start, log.start)
    return None


def find_deleted(
    ranges: Mapping[TopicPartition, OffsetRange], bounds: Mapping[TopicPartition, OffsetRange]
) -> Sequence[DataLoss]:
    """What of the ranges lies before the starts of the logs."""
    starts = {each: bounds[each].start for each in ranges}
    return [
        DataLoss(each, DataLossReason.DELETED, offsets.start, min(offsets.end, starts[each]), starts[each])
        for each, offsets in sorted(ranges.items())
        if offsets.start < min(offsets.end, starts[each])
    ]


def loss_of_gap(gap: Gap) -> DataLoss | None:
    """What a reader lost; None if the gap's offsets never had a record for it."""
    if gap.reason is not GapReason.LOST:
        return None
    return DataLoss(gap.partition, DataLossReason.DELETED, gap.offsets.start, gap.offsets.end, gap.offsets.end)


def report_data_losses(losses: Sequence[DataLoss], *, fail: bool) -> None:
    """Raise DamagedDataError about the first loss, or warn of each."""
    if fail and losses:
        more = f" (and so in {len(losses) - 1} more partitions)" if len(losses) > 1 else ""
        raise DamagedDataError(f"{losses[0]}{more}")
    for loss in losses:
        logger.warning("%s", loss.warning())


def resumed_offsets(positions: Offsets, losses: Sequence[DataLoss]) -> Offsets:
    """Where reading goes on; partitions of which nothing is left are left out."""
    resumes = {loss.partition: loss.resume for loss in losses}
    moved = {each: resumes.get(each, position) for each, position in positions.items()}
    return {each: position for each, position in moved.items() if position is not None}
