"""OffsetForLeaderEpoch (23): return the end offset of a leader epoch, so that a consumer can detect a truncated log.

Behaviour
- An epoch ends where the next one begins, the current one at the end of the log. For an epoch without records the
  answer is the epoch before it; for one whose records are deleted, the log start; for an unknown one, -1.
"""

from __future__ import annotations

from typing import Any

from eosfw_memory.common.codes import Code
from eosfw_memory.common.delayed_operation import Answer
from eosfw_memory.server.broker.broker import Broker, Context
from eosfw_memory.server.protocol.authorization import allows
from eosfw_memory.server.protocol.leader_epoch_check import leader_epoch_error
from eosfw_memory.server.protocol.partition_answers import by_topic
from eosfw_memory.server.protocol.rights import CLUSTER_ACTION, TOPIC_DESCRIBE


def handle(broker: Broker, request: Any, context: Context) -> Answer:
    """Answer for each partition."""
    wanted = ((topic.topic, each) for topic in request.topics for each in topic.partitions)
    every = allows(broker, context, CLUSTER_ACTION)

    def answer(topic: str, each: Any) -> Answer:
        if every or allows(broker, context, TOPIC_DESCRIBE, topic):
            return _end(broker, topic, each)
        return {"error_code": TOPIC_DESCRIBE.denied, "partition": each.partition}

    return {"topics": by_topic(((topic, answer(topic, each)) for topic, each in wanted), "topic")}


def _end(broker: Broker, topic: str, wanted: Any) -> Answer:
    partition = broker.topics.partition(topic, wanted.partition)
    if partition is None:
        return {"error_code": Code.UNKNOWN_TOPIC_OR_PARTITION, "partition": wanted.partition}
    code = leader_epoch_error(partition.log, wanted.current_leader_epoch)
    if code is not Code.NONE:
        return {"error_code": code, "partition": wanted.partition}
    epoch, end_offset = partition.log.end_of_epoch(wanted.leader_epoch)
    return {
        "error_code": Code.NONE,
        "partition": wanted.partition,
        "leader_epoch": epoch,
        "end_offset": end_offset,
    }
