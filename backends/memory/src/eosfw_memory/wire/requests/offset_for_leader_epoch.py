"""OffsetForLeaderEpoch (23): say where a leader epoch ends, so that a consumer can notice a cut log.

Behaviour
- There is one leader epoch, 0, and nothing is ever cut: it ends at the end of the log. Later epochs are unknown (-1).
"""

from __future__ import annotations

from typing import Any

from eosfw_memory.broker import LEADER_EPOCH, Broker, Context
from eosfw_memory.codes import Code
from eosfw_memory.deferred import Answer
from eosfw_memory.wire.leader_epoch import epoch_error


def handle(broker: Broker, request: Any, context: Context) -> Answer:  # noqa: ARG001
    """Answer for each partition."""
    return {
        "topics": [
            {"topic": topic.topic, "partitions": [_end(broker, topic.topic, wanted) for wanted in topic.partitions]}
            for topic in request.topics
        ]
    }


def _end(broker: Broker, topic: str, wanted: Any) -> Answer:
    partition = broker.topics.partition(topic, wanted.partition)
    if partition is None:
        return {"error_code": Code.UNKNOWN_TOPIC_OR_PARTITION, "partition": wanted.partition}
    code = epoch_error(wanted.current_leader_epoch)
    if code is not Code.NONE or wanted.leader_epoch > LEADER_EPOCH:
        return {"error_code": code, "partition": wanted.partition}
    return {
        "error_code": Code.NONE,
        "partition": wanted.partition,
        "leader_epoch": LEADER_EPOCH,
        "end_offset": partition.log.high_watermark,
    }
