"""Separate the offsets that a request can commit from those that are refused."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from eosfw.ids import TopicPartition
from eosfw_memory.common.codes import Code
from eosfw_memory.common.delayed_operation import Answer
from eosfw_memory.server.broker.broker import Broker, Context
from eosfw_memory.server.coordinators.groups.group_records import NO_EXPIRY, NO_LEADER_EPOCH, Committed
from eosfw_memory.server.protocol.authorization import allows
from eosfw_memory.server.protocol.partition_answers import each_partition
from eosfw_memory.server.protocol.rights import TOPIC_READ

_UNSEEN: Final = (Code.UNKNOWN_TOPIC_OR_PARTITION, TOPIC_READ.denied)


@dataclass(frozen=True, slots=True)
class OffsetCommitPartitions:
    """The offsets that can be committed, and the error codes of the others."""

    valid: dict[TopicPartition, Committed]
    errors: dict[TopicPartition, Code]

    @property
    def any_exists(self) -> bool:
        """Whether at least one partition of the request exists, as far as the client may know."""
        return bool(self.valid) or any(code not in _UNSEEN for code in self.errors.values())


def validate_partitions(
    broker: Broker, topics: Iterable[Any], context: Context, expires_ms: int = NO_EXPIRY
) -> OffsetCommitPartitions:
    """Check every partition of a request."""
    found, now_ms = OffsetCommitPartitions({}, {}), broker.now_ms()
    for topic in topics:
        for each in topic.partitions:
            where = TopicPartition(topic.name, each.partition_index)
            metadata = each.committed_metadata or ""
            if not allows(broker, context, TOPIC_READ, topic.name):
                found.errors[where] = TOPIC_READ.denied
            elif broker.topics.partition(*where) is None:
                found.errors[where] = Code.UNKNOWN_TOPIC_OR_PARTITION
            elif len(metadata) > broker.settings.groups.offset_metadata_max_bytes:
                found.errors[where] = Code.OFFSET_METADATA_TOO_LARGE
            else:
                epoch = getattr(each, "committed_leader_epoch", NO_LEADER_EPOCH)
                found.valid[where] = Committed(each.committed_offset, epoch, metadata, now_ms, expires_ms)
    return found


def offset_commit_answer(topics: Iterable[Any], checked: OffsetCommitPartitions, code: Code) -> Answer:
    """The answer for each partition: its own error code, or else the code of the whole commit."""

    def answer(topic: str, wanted: Any) -> Answer:
        where = TopicPartition(topic, wanted.partition_index)
        return {"partition_index": where.partition, "error_code": checked.errors.get(where, code)}

    return {"topics": each_partition(topics, "partitions", answer)}
