"""ListOffsets (2): find an offset by time, or an end of the log.

Behaviour
- -2 is the log start. -1 is the end for readers of the isolation level: the last stable offset at read_committed, else
  the high watermark. A timestamp is the first record that is not older, before that end; -1 when there is none.
- -3 is the record with the largest timestamp, -4 the start of the local log, which is the whole log, -5 the end of what
  is in tiered storage, which is nothing. In a version before these numbers, and for any other negative number, the
  answer is UnsupportedVersion.
- A partition that is named twice gets one answer, InvalidRequest.

Version notes: 2 adds the isolation level, 4 leader epochs, 7 the largest timestamp, 8 and 9 the numbers -4 and -5, 10 a
timeout for tiered storage. Kafka 4.1 does not offer 11.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

from eosfw.ids import TopicPartition
from eosfw.protocols import IsolationLevel
from eosfw_memory.common.codes import Code
from eosfw_memory.common.delayed_operation import Answer
from eosfw_memory.common.log_errors import LogError
from eosfw_memory.server.broker.broker import Broker, Context
from eosfw_memory.server.protocol.authorization import allows
from eosfw_memory.server.protocol.leader_epoch_check import leader_epoch_error
from eosfw_memory.server.protocol.rights import TOPIC_DESCRIBE
from eosfw_memory.storage.log.leader_epochs import NO_LEADER
from eosfw_memory.storage.log.log_results import TimestampAndOffset
from eosfw_memory.storage.log.partition_log import EARLIEST, LATEST, PartitionLog

NOT_FOUND = -1
_NEWEST: Final = -3
_EARLIEST_HERE: Final = -4
_LATEST_ELSEWHERE: Final = -5
_SINCE_VERSION: Final = {LATEST: 0, EARLIEST: 0, _NEWEST: 7, _EARLIEST_HERE: 8, _LATEST_ELSEWHERE: 9}
"""The meaning of negative numbers, each with the first version that has it."""


def handle(broker: Broker, request: Any, context: Context) -> Answer:
    """Answer for each partition."""
    committed = getattr(request, "isolation_level", 0)
    isolation = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
    named = [
        (TopicPartition(topic.name, each.partition_index), each)
        for topic in request.topics
        for each in topic.partitions
    ]
    times = Counter(where for where, _ in named)
    answers: dict[str, dict[int, Answer]] = {topic.name: {} for topic in request.topics}
    for where, wanted in named:
        if not allows(broker, context, TOPIC_DESCRIBE, where.topic):
            answer = _refused(where.partition, TOPIC_DESCRIBE.denied)
        elif times[where] > 1:
            answer = _refused(where.partition, Code.INVALID_REQUEST)
        else:
            answer = _partition(broker, where, wanted, isolation, context.version)
        answers[where.topic][where.partition] = answer
    return {"topics": [{"name": name, "partitions": list(each.values())} for name, each in answers.items()]}


def _partition(broker: Broker, where: TopicPartition, wanted: Any, isolation: IsolationLevel, version: int) -> Answer:
    # An unknown negative number counts as newer than any version.
    if wanted.timestamp < 0 and version < _SINCE_VERSION.get(wanted.timestamp, version + 1):
        return _refused(where.partition, Code.UNSUPPORTED_VERSION)
    partition = broker.topics.partition(*where)
    if partition is None:
        return _refused(where.partition, Code.UNKNOWN_TOPIC_OR_PARTITION)
    code = leader_epoch_error(partition.log, getattr(wanted, "current_leader_epoch", NO_LEADER))
    if code is not Code.NONE:
        return _refused(where.partition, code)
    try:
        found = _found(partition.log, wanted.timestamp, isolation)
    except LogError as refused:  # records compressed in a way that cannot be read here
        return _refused(where.partition, refused.code)
    return {
        "partition_index": where.partition,
        "error_code": Code.NONE,
        "timestamp": NOT_FOUND if found is None else found.timestamp,
        "offset": NOT_FOUND if found is None else found.offset,
        "leader_epoch": NO_LEADER if found is None else found.leader_epoch,
    }


def _found(log: PartitionLog, timestamp: int, isolation: IsolationLevel) -> TimestampAndOffset | None:
    if timestamp == _NEWEST:
        return log.max_timestamp_offset(isolation)
    if timestamp == _LATEST_ELSEWHERE:
        return None
    return log.offset_for_timestamp(EARLIEST if timestamp == _EARLIEST_HERE else timestamp, isolation)


def _refused(partition: int, code: Code) -> Answer:
    return {"partition_index": partition, "error_code": code}
