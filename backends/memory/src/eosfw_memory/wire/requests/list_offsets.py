"""ListOffsets (2): find an offset by time, or an end of the log.

Behaviour
- -2 is the log start. -1 is the end a reader of the isolation level may see: the last stable offset at
  read_committed, else the high watermark. Any other timestamp: the first record not older, within what the level may
  see; -1 when there is none.

Version notes: 2 adds the isolation level, 4 leader epochs. -3 (newest timestamp) would come with 7.
"""

from __future__ import annotations

from typing import Any

from eosfw_memory.broker import LEADER_EPOCH, Broker, Context
from eosfw_memory.codes import Code
from eosfw_memory.deferred import Answer
from eosfw_memory.log.partition import PartitionLog
from eosfw_memory.wire.leader_epoch import epoch_error

_LATEST, _EARLIEST = -1, -2
_NOT_FOUND = (-1, -1)


def handle(broker: Broker, request: Any, context: Context) -> Answer:  # noqa: ARG001
    """Answer for each partition."""
    committed = bool(getattr(request, "isolation_level", 0))
    return {
        "topics": [
            {
                "name": topic.name,
                "partitions": [_partition(broker, topic.name, each, committed=committed) for each in topic.partitions],
            }
            for topic in request.topics
        ]
    }


def _partition(broker: Broker, topic: str, wanted: Any, *, committed: bool) -> Answer:
    partition = broker.topics.partition(topic, wanted.partition_index)
    if partition is None:
        return {"partition_index": wanted.partition_index, "error_code": Code.UNKNOWN_TOPIC_OR_PARTITION}
    code = epoch_error(getattr(wanted, "current_leader_epoch", -1))
    if code is not Code.NONE:
        return {"partition_index": wanted.partition_index, "error_code": code}
    timestamp, offset = _found(partition.log, wanted.timestamp, committed=committed)
    return {
        "partition_index": wanted.partition_index,
        "error_code": Code.NONE,
        "timestamp": timestamp,
        "offset": offset,
        "leader_epoch": LEADER_EPOCH,
    }


def _found(log: PartitionLog, timestamp: int, *, committed: bool) -> tuple[int, int]:
    end = log.last_stable_offset if committed else log.high_watermark
    if timestamp == _LATEST:
        return -1, end
    if timestamp == _EARLIEST:
        return -1, log.log_start_offset
    found = log.offset_for_timestamp(timestamp)
    return _NOT_FOUND if found is None or found.offset >= end else (found.timestamp, found.offset)
