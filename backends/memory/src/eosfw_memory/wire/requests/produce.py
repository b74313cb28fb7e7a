"""Produce (0): append record batches to partitions.

Behaviour
- Batches stay the bytes they are: the log reads their headers, checks the producer's epoch with its sequence numbers,
  and stamps offsets (BRK-01 to 04).
- A request with a transactional batch must name its transactional id; the coordinator must know the partition as part
  of the ongoing transaction before its first batch is appended (KIP-890, COR-19); else InvalidTxnState.
- acks 0 is answered with silence; 1 and all mean the same on one broker.

Version notes: 3 is the first with record batches v2; 8 adds messages; 11 knows TransactionAbortable; from 12 on
(version 2 of transactions) the first batch itself makes the partition part of the transaction, before 12
AddPartitionsToTxn does.
"""

from __future__ import annotations

from typing import Any

from eosfw.ids import TopicPartition
from eosfw_memory.broker import Broker, Context
from eosfw_memory.codes import Code, KafkaError
from eosfw_memory.deferred import Answer
from eosfw_memory.faults import points
from eosfw_memory.log.batch import NO_PRODUCER_ID, BatchHeader, read_header
from eosfw_memory.log.partition import PartitionLog
from eosfw_memory.verification import add_write, verify_write

_ACKS = (-1, 0, 1)
_ADDING_VERSION = 12


def handle(broker: Broker, request: Any, context: Context) -> Answer | None:
    """Append each partition's records, answering for each by itself."""
    responses = [
        {
            "name": topic.name,
            "partition_responses": [
                _partition(broker, request, TopicPartition(topic.name, data.index), data.records, context)
                for data in topic.partition_data
            ],
        }
        for topic in request.topic_data
    ]
    return {"responses": responses} if request.acks != 0 else None


def _partition(broker: Broker, request: Any, where: TopicPartition, records: bytes | None, context: Context) -> Answer:
    try:
        return _appended(broker, request, where, records or b"", context)
    except KafkaError as refused:
        return _refused(where, refused.code, refused.message)


def _appended(broker: Broker, request: Any, where: TopicPartition, records: bytes, context: Context) -> Answer:
    partition = broker.topics.partition(*where)
    if request.acks not in _ACKS:
        raise KafkaError(Code.INVALID_REQUIRED_ACKS)
    if partition is None:
        raise KafkaError(Code.UNKNOWN_TOPIC_OR_PARTITION)
    header = read_header(records)
    if header.transactional:
        _check_transaction(broker, partition.log, request.transactional_id, header, context.version)
    armed = broker.faults.armed
    if armed:
        broker.faults.reach(points.before("append"), topic=where.topic)
    done = partition.log.append(records, broker.now_ms(), header)
    partition.changed()
    if armed:
        broker.faults.reach(points.after("append"), topic=where.topic)
    return {
        "index": where.partition,
        "error_code": Code.NONE,
        "base_offset": done.base_offset,
        "log_append_time": done.log_append_time,
        "log_start_offset": partition.log.log_start_offset,
        "record_errors": (),
        "error_message": None,
    }


def _check_transaction(
    broker: Broker, log: PartitionLog, transactional_id: str | None, header: BatchHeader, version: int
) -> None:
    """See to it that a transactional batch belongs to a transaction; only the first of each partition needs that."""
    if transactional_id is None:
        raise KafkaError(Code.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, "a transactional batch without transactional id")
    if header.producer_id == NO_PRODUCER_ID or log.has_open(header.producer_id, header.producer_epoch):
        return
    log.check_epoch(header.producer_id, header.producer_epoch)
    log.state.producers.doubt(header, broker.now_ms(), strict=version >= _ADDING_VERSION)
    if version < _ADDING_VERSION:
        verify_write(broker.coordinator, transactional_id, log.where, header, version)
    else:
        add_write(broker.coordinator, transactional_id, log.where, header, broker.now_ms())


def _refused(where: TopicPartition, code: Code, message: str) -> Answer:
    return {
        "index": where.partition,
        "error_code": code,
        "base_offset": -1,
        "log_append_time": -1,
        "record_errors": (),
        "error_message": message,
    }
