"""The state of partitions as texts, to compare what appends made with what is rebuilt from the logs."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from eosfw.ids import TopicPartition
from eosfw_memory.storage.log.partition_log import PartitionLog

Producers = Mapping[TopicPartition, Collection[int]]


def producers(logs: Mapping[TopicPartition, PartitionLog]) -> Producers:
    """The producer ids that each partition knows."""
    return {partition: sorted(log.producers()) for partition, log in logs.items()}


def states(logs: Mapping[TopicPartition, PartitionLog], known: Producers) -> dict[TopicPartition, str]:
    """Ends, and epoch, next sequence number and open transaction of these producers; others may have been forgotten."""
    return {partition: _state(log, known.get(partition, ())) for partition, log in logs.items()}


def _state(log: PartitionLog, known: Collection[int]) -> str:
    entries = log.producers()
    each = "; ".join(
        f"producer {one}: epoch {entry.epoch}, next sequence {entry.next_sequence}, open at {entry.first_offset}"
        for one in known
        if (entry := entries.get(one)) is not None
    )
    return f"stable offset {log.last_stable_offset}, high watermark {log.high_watermark}; {each}"
