"""Sort the partitions of requests that commit offsets."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from eosfw.ids import TopicPartition
from eosfw_memory.broker import Broker
from eosfw_memory.codes import Code
from eosfw_memory.coordinators.groups.group_records import NO_EXPIRY, NO_LEADER_EPOCH, Committed
from eosfw_memory.delayed_operation import Answer


@dataclass(frozen=True, slots=True)
class OffsetCommitPartitions:
    """The offsets that can be committed, with what is wrong with the others."""

    valid: dict[TopicPartition, Committed]
    errors: dict[TopicPartition, Code]

    @property
    def any_exists(self) -> bool:
        """Whether there is a partition for which offsets might be committed."""
        return bool(self.valid) or any(code is not Code.UNKNOWN_TOPIC_OR_PARTITION for code in self.errors.values())


def validate_partitions(broker: Broker, topics: Iterable[Any], expires_ms: int = NO_EXPIRY) -> OffsetCommitPartitions:
    """Look at every partition of a request."""
    found, now_ms = OffsetCommitPartitions({}, {}), broker.now_ms()
    for topic in topics:
        for each in topic.partitions:
            where = TopicPartition(topic.name, each.partition_index)
            metadata = each.committed_metadata or ""
            if broker.topics.partition(*where) is None:
                found.errors[where] = Code.UNKNOWN_TOPIC_OR_PARTITION
            elif len(metadata) > broker.settings.groups.offset_metadata_max_bytes:
                found.errors[where] = Code.OFFSET_METADATA_TOO_LARGE
            else:
                epoch = getattr(each, "committed_leader_epoch", NO_LEADER_EPOCH)
                found.valid[where] = Committed(each.committed_offset, epoch, metadata, now_ms, expires_ms)
    return found


def offset_commit_answer(topics: Iterable[Any], validate_partitions: OffsetCommitPartitions, code: Code) -> Answer:
    """The answer for each partition: what is wrong with it, else what became of all."""
    return {
        "topics": [
            {
                "name": topic.name,
                "partitions": [
                    {
                        "partition_index": each.partition_index,
                        "error_code": validate_partitions.errors.get(
                            TopicPartition(topic.name, each.partition_index), code
                        ),
                    }
                    for each in topic.partitions
                ],
            }
            for topic in topics
        ]
    }
