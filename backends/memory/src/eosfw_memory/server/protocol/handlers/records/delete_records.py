"""DeleteRecords (21): remove the records before an offset.

Behaviour
- -1 stands for the high watermark; an offset outside the log is OffsetOutOfRange. A topic with
  `cleanup.policy=compact` alone is PolicyViolation, a topic of the broker's own InvalidTopic. The log starts at the
  offset at once; segments that end before it are deleted later, by a background task.
"""

from __future__ import annotations

from typing import Any

from eosfw_memory.common.codes import Code, KafkaError
from eosfw_memory.common.delayed_operation import Answer
from eosfw_memory.server.broker.broker import Broker, Context
from eosfw_memory.server.protocol.authorization import require
from eosfw_memory.server.protocol.partition_answers import each_partition
from eosfw_memory.server.protocol.rights import TOPIC_DELETE
from eosfw_memory.storage.topics.topic import INTERNAL

_NOWHERE = -1


def handle(broker: Broker, request: Any, context: Context) -> Answer:
    """Answer for each partition."""

    def answer(topic: str, wanted: Any) -> Answer:
        try:
            require(broker, context, TOPIC_DELETE, topic)
            start, code = _deleted(broker, topic, wanted.partition_index, wanted.offset), Code.NONE
        except KafkaError as refused:
            start, code = _NOWHERE, refused.code
        return {"partition_index": wanted.partition_index, "low_watermark": start, "error_code": code}

    return {"topics": each_partition(request.topics, "partitions", answer)}


def _deleted(broker: Broker, topic: str, index: int, offset: int) -> int:
    partition = broker.topics.partition(topic, index)
    if partition is None:
        raise KafkaError(Code.UNKNOWN_TOPIC_OR_PARTITION)
    if topic in INTERNAL:
        raise KafkaError(Code.INVALID_TOPIC_EXCEPTION, f"topic {topic!r} is the broker's own")
    if not partition.log.config.deleted:
        raise KafkaError(Code.POLICY_VIOLATION, f"topic {topic!r} is compacted, its records are not deleted by offset")
    return partition.log.delete_before(offset)
