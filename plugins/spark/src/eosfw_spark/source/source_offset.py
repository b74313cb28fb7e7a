"""Offsets of a stream as JSON, in the form of Spark's Kafka source (`KafkaSourceOffset`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eosfw.errors import DamagedDataError
from eosfw.ids import TopicPartition


def from_offsets(offsets: Mapping[TopicPartition, int]) -> dict[str, dict[str, int]]:
    """Offsets as `{"topic": {"0": 12}}`."""
    topics: dict[str, dict[str, int]] = {}
    for (topic, partition), offset in sorted(offsets.items()):
        topics.setdefault(topic, {})[str(partition)] = offset
    return topics


def to_offsets(given: Mapping[str, Any]) -> dict[TopicPartition, int]:
    """The offsets of a checkpoint; DamagedDataError if another source wrote it."""
    try:
        return {
            TopicPartition(topic, int(partition)): _offset(offset)
            for topic, partitions in given.items()
            for partition, offset in partitions.items()
        }
    except (ValueError, TypeError, AttributeError):
        raise DamagedDataError(
            f"the checkpoint holds {str(given)[:120]}, which are no offsets of topics: another query wrote it, so give"
            " this query a checkpointLocation of its own"
        ) from None


def _offset(given: object) -> int:
    if type(given) is not int or given < 0:
        raise ValueError(given)
    return given
