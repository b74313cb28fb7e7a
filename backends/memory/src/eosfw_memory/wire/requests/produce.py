"""Produce (0): append record batches to partitions.

Behaviour
- Batches stay the bytes they are: the log reads their headers, checks the producer's epoch with its sequence numbers,
  and stamps offsets (BRK-01 to 04).
- A transactional batch must come under its transactional id, and the coordinator must know the partition as part of
  the ongoing transaction before the first one is appended (KIP-890, COR-19); else InvalidTxnState.
- acks 0 is answered with silence; 1 and all mean the same on one broker.

Version notes: 3 is the first with record batches v2; 8 adds messages; up to 11 AddPartitionsToTxn comes first (12 would
be version 2 of transactions).
"""

from __future__ import annotations

from typing import Any

from eosfw.ids import ProducerIdAndEpoch, TopicPartition

from eosfw_memory.broker import Broker, Context
from eosfw_memory.codes import Code, KafkaError
from eosfw_memory.deferred import Answer
from eosfw_memory.log.batch import BatchHeader, read_header
from eosfw_memory.log.errors import LogError

_GENERIC_ERROR_VERSION = 11
_ACKS = (-1, 0, 1)


def handle(broker: Broker, request: Any, context: Context) -> Answer | None:
    """Append each partition's records, answering for each by itself."""
    answer = {"responses": [_topic(broker, request, topic, context) for topic in request.topic_data]}
    return answer if request.acks != 0 else None


def _topic(broker: Broker, request: Any, topic: Any, context: Context) -> Answer:
    return {
        "name": topic.name,
        "partition_responses": [
            _partition(broker, request, TopicPartition(topic.name, data.index), data.records, context)
            for data in topic.partition_data
        ],
    }
