"""Produce (0): append record batches to partitions.

Behaviour
- Batches stay bytes: the log reads their headers, validates their records, checks the producer's epoch and sequence
  numbers, and writes the offsets into the headers (BRK-01 to 04).
- A request with a transactional batch must have a transactional id and a single producer; else nothing of the request
  is appended. The coordinator must know the partition as part of the ongoing transaction before its
  first batch is appended (KIP-890, COR-19); else InvalidTxnState. `transaction.partition.verification.enable=false`
  leaves that out before version 12, as in Kafka.
- The broker's own topics are written by nobody but the broker (InvalidTopic).
- Of a partition that is named twice the last batch counts.
- With acks 0 there is no answer, and an error closes the connection; 1 and all mean the same on one broker.

Version notes: 3 is the first with record batches v2; zstd is refused before 7; 8 adds messages; 11 has
TransactionAbortable; from 12 on (version 2 of transactions) the first batch itself makes the partition part of the
transaction, before 12 AddPartitionsToTxn does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw_memory.common.codes import Code, KafkaError
from eosfw_memory.common.delayed_operation import Answer, DisconnectClientError
from eosfw_memory.server.broker.broker import Broker, Context
from eosfw_memory.server.protocol.authorization import require
from eosfw_memory.server.protocol.partition_answers import by_topic
from eosfw_memory.server.protocol.rights import TOPIC_WRITE, TRANSACTIONAL_ID_WRITE
from eosfw_memory.server.protocol.transaction_verification import ADDING_VERSION, verify_write
from eosfw_memory.storage.log.partition_log import PartitionLog
from eosfw_memory.storage.records.batch import (
    NO_PRODUCER_ID,
    BatchHeader,
    check_sum,
    first_header,
    header_at,
    sole_batch,
)
from eosfw_memory.storage.topics.topic import INTERNAL

_ACKS = (-1, 0, 1)
_ZSTD, _ZSTD_VERSION = 4, 7


def handle(broker: Broker, request: Any, context: Context) -> Answer | None:
    """Append the records of each partition; answer for each."""
    sent = {
        TopicPartition(topic.name, data.index): data.records or b""
        for topic in request.topic_data
        for data in topic.partition_data
    }
    try:
        # A single batch under a transactional id can break none of these rules while everybody may use every id.
        if len(sent) > 1 or request.transactional_id is None or broker.authorizer is not None:
            _check_all(broker, request.transactional_id, sent, context)
        answers = [(where.topic, _answer(broker, request, where, sent[where], context)) for where in sent]
    except KafkaError as why:
        answers = [(where.topic, _refused(where, why)) for where in sent]
    if request.acks == 0:
        if any(answer["error_code"] is not Code.NONE for _, answer in answers):
            raise DisconnectClientError("records that came without a wish for an answer were refused")
        return None
    return {"responses": by_topic(answers, partitions="partition_responses")}


def _check_all(
    broker: Broker, transactional_id: str | None, sent: Mapping[TopicPartition, bytes], context: Context
) -> None:
    """Raise KafkaError if the request as a whole is refused."""
    headers = map(first_header, sent.values())
    if not any(header is not None and header.transactional for header in headers):
        return
    if transactional_id is None:
        raise KafkaError(Code.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, "a transactional batch without transactional id")
    require(broker, context, TRANSACTIONAL_ID_WRITE, transactional_id)
    producers = {
        (header.producer_id, header.producer_epoch)
        for where, records in sent.items()
        if (header := _header_of_one(records)) is not None and broker.topics.partition(*where) is not None
        if header.transactional and header.producer_id != NO_PRODUCER_ID
    }
    if len(producers) > 1:
        what = f"{len(producers)} producers under the id {transactional_id!r}"
        raise KafkaError(Code.INVALID_PRODUCER_ID_MAPPING, what)


def _header_of_one(records: bytes) -> BatchHeader | None:
    """The header of the only batch; None where there are several, which is refused later."""
    try:
        return first_header(sole_batch(records))
    except KafkaError:
        return None


def _answer(broker: Broker, request: Any, where: TopicPartition, records: bytes, context: Context) -> Answer:
    try:
        return _appended(broker, request, where, records, context)
    except KafkaError as refused:
        return _refused(where, refused)


def _appended(broker: Broker, request: Any, where: TopicPartition, records: bytes, context: Context) -> Answer:
    require(broker, context, TOPIC_WRITE, where.topic)
    partition = broker.topics.partition(*where)
    if partition is None:
        raise KafkaError(Code.UNKNOWN_TOPIC_OR_PARTITION)
    batch = sole_batch(records)
    header = header_at(batch, 0)
    if header.compression == _ZSTD and context.version < _ZSTD_VERSION:
        raise KafkaError(Code.UNSUPPORTED_COMPRESSION_TYPE, f"zstd takes Produce from version {_ZSTD_VERSION} on")
    if request.acks not in _ACKS:
        raise KafkaError(Code.INVALID_REQUIRED_ACKS)
    if where.topic in INTERNAL:
        raise KafkaError(Code.INVALID_TOPIC_EXCEPTION, f"{where.topic} is written by the broker alone")
    check_sum(batch, header)
    if header.transactional:
        _check_transaction(broker, partition.log, request.transactional_id, header, context.version)
    done = broker.append_records(partition, batch, broker.now_ms(), header, context.in_process)
    return {
        "index": where.partition,
        "error_code": Code.NONE,
        "base_offset": done.base_offset,
        "log_append_time": done.log_append_time,
        "log_start_offset": partition.log.log_start_offset,
        "record_errors": (),
    }


def _check_transaction(
    broker: Broker, log: PartitionLog, transactional_id: str, header: BatchHeader, version: int
) -> None:
    """Ensure that a batch belongs to an open transaction; only the first in each partition needs the coordinator."""
    producer = ProducerIdAndEpoch(header.producer_id, header.producer_epoch)
    if header.producer_id == NO_PRODUCER_ID or log.has_open_transaction(*producer):
        return
    if version < ADDING_VERSION and not broker.settings.verifies_transactions:
        return
    log.check_epoch(*producer)
    # The entry comes first: if the coordinator refuses this batch, no later one may take its place in the sequence.
    log.state.producers.maybe_create_verification_entry(header, broker.now_ms(), strict=version >= ADDING_VERSION)
    verify_write(broker, transactional_id, log.where, producer, version)


def _refused(where: TopicPartition, why: KafkaError) -> Answer:
    return {
        "index": where.partition,
        "error_code": why.code,
        "base_offset": -1,
        "record_errors": (),
        "error_message": why.message,
    }
