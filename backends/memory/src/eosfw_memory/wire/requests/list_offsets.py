"""ListOffsets (2): find an offset by time, or an end of the log.

Behaviour
- -2 is the log start. -1 is the end a reader of the isolation level may see: the last stable offset at
  read_committed, else the high watermark. Any other timestamp: the first record not older, within what the level may
  see; -1 when there is none.

Version notes: 2 adds the isolation level, 4 leader epochs. -3 (newest timestamp) would come with 7.
"""

from __future__ import annotations

from typing import Any

from eosfw.protocols import IsolationLevel
from eosfw_memory.broker import Broker, Context
from eosfw_memory.codes import Code
from eosfw_memory.deferred import Answer
from eosfw_memory.log.epochs import NO_LEADER
from eosfw_memory.log.errors import LogError
from eosfw_memory.wire.leader_epoch import epoch_error

NOT_FOUND = -1


def handle(broker: Broker, request: Any, context: Context) -> Answer:  # noqa: ARG001
    """Answer for each partition."""
    committed = getattr(request, "isolation_level", 0)
    isolation = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
    return {
        "topics": [
            {
                "name": topic.name,
                "partitions": [_partition(broker, topic.name, each, isolation) for each in topic.partitions],
            }
            for topic in request.topics
        ]
    }


def _partition(broker: Broker, topic: str, wanted: Any, isolation: IsolationLevel) -> Answer:
    partition = broker.topics.partition(topic, wanted.partition_index)
    if partition is None:
        return {"partition_index": wanted.partition_index, "error_code": Code.UNKNOWN_TOPIC_OR_PARTITION}
    code = epoch_error(partition.log, getattr(wanted, "current_leader_epoch", NO_LEADER))
    if code is not Code.NONE:
        return {"partition_index": wanted.partition_index, "error_code": code}
    try:
        found = partition.log.offset_for_timestamp(wanted.timestamp, isolation)
    except LogError as refused:  # records compressed in a way that cannot be read here
        return {"partition_index": wanted.partition_index, "error_code": refused.code}
    return {
        "partition_index": wanted.partition_index,
        "error_code": Code.NONE,
        "timestamp": NOT_FOUND if found is None else found.timestamp,
        "offset": NOT_FOUND if found is None else found.offset,
        "leader_epoch": NO_LEADER if found is None else found.leader_epoch,
    }
