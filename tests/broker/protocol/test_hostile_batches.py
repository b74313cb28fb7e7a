"""Batches that no honest client sends are refused with Kafka's codes, and leave nothing."""

from __future__ import annotations

import sys
from importlib import import_module
from types import SimpleNamespace as Request

import pytest

from eosfw.concurrency import ThreadRuntime
from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw_memory.common.codes import Code
from eosfw_memory.common.log_errors import MessageTooLargeError
from eosfw_memory.server.broker.broker import Broker, Context
from eosfw_memory.server.broker.settings import Endpoint, Settings
from eosfw_memory.server.protocol.handlers import (
    add_offsets_to_txn,
    add_partitions_to_txn,
    end_txn,
    list_offsets,
    produce,
    txn_offset_commit,
)
from eosfw_memory.storage.records.codec import encode_batch
from eosfw_memory.storage.records.compression import MAX_UNPACKED, unpack

from .raw_batches import LZ4, PACKERS, batch, patched, record

T = "t"


@pytest.fixture
def broker():
    made = Broker(Settings.parse({}), Endpoint("127.0.0.1", 9092), ThreadRuntime())
    made.topics.create(T, 2, {})
    made.topics.create("compacted", 1, {"cleanup.policy": "compact"})
    return made


def send(broker, records, *, transactional_id=None, topic=T, version=11, partition=0):
    data = Request(index=partition, records=records)
    request = Request(
        transactional_id=transactional_id, acks=-1, topic_data=[Request(name=topic, partition_data=[data])]
    )
    answer = broker.serve(produce.handle, request, Context(version))
    return answer["responses"][0]["partition_responses"][0]["error_code"]


def plain(broker, **changes: int) -> bytes:
    return patched(encode_batch(None, [b"v"], broker.now_ms()), **changes)


def idempotent(broker, producer_id=7, epoch=0, sequence=0, *, transactional=False) -> bytes:
    producer = ProducerIdAndEpoch(producer_id, epoch)
    return encode_batch(
        None, [b"v"], broker.now_ms(), producer=producer, base_sequence=sequence, transactional=transactional
    )


@pytest.mark.parametrize("stamp", [-(2**63), 2**63 - 1, -2, -1, 0])
def test_an_extreme_timestamp_leaves_the_partition_readable(broker, stamp):
    """Taken or refused, then still readable."""
    code = send(broker, plain(broker, first=stamp, newest=stamp))

    assert code in (Code.NONE, Code.INVALID_TIMESTAMP)
    assert send(broker, plain(broker)) is Code.NONE
    wanted = Request(partition_index=0, timestamp=broker.now_ms() - 1000)
    request = Request(isolation_level=0, topics=[Request(name=T, partitions=[wanted])])
    answer = broker.serve(list_offsets.handle, request, Context(4))
    assert answer["topics"][0]["partitions"][0]["error_code"] is Code.NONE


def test_the_last_epoch_is_given_to_no_producer(broker):
    """COR-04: no producer gets epoch 32767; a partition that has seen it refuses older epochs."""
    own = broker.coordinator.initialise("x", 60_000, None, broker.now_ms())
    broker.coordinator.add_partitions("x", own, [TopicPartition(T, 0)], broker.now_ms())

    code = send(broker, idempotent(broker, own.producer_id, 32767, transactional=True), transactional_id="x")

    assert code in (Code.INVALID_PRODUCER_EPOCH, Code.PRODUCER_FENCED)
    assert (
        send(broker, idempotent(broker, own.producer_id, own.epoch, transactional=True), transactional_id="x")
        is Code.NONE
    )


def test_a_batch_without_the_transactional_flag_joins_no_transaction(broker):
    """Visible at once, like any other."""
    own = broker.coordinator.initialise("x", 60_000, None, broker.now_ms())

    assert send(broker, idempotent(broker, own.producer_id, own.epoch), transactional_id="x") is Code.NONE
    assert broker.topics.partition(T, 0).log.last_stable_offset == 1


ZEROS = bytes(MAX_UNPACKED + 1)


def packed(kind: int) -> bytes:
    if kind == LZ4:
        return import_module("lz4.frame").compress(ZEROS, block_linked=False)
    return PACKERS[kind](ZEROS)


@pytest.mark.parametrize("kind", [1, 2, 3, 4], ids=["gzip", "snappy", "lz4", "zstd"])
def test_a_compression_bomb_is_unpacked_up_to_the_limit(kind):
    """A few kilobytes must not take all the memory of the broker."""
    with pytest.raises(MessageTooLargeError):
        unpack(kind, packed(kind))


@pytest.mark.parametrize("kind", [1, 2, 3, 4], ids=["gzip", "snappy", "lz4", "zstd"])
def test_a_compression_bomb_is_refused_on_arrival(broker, kind):
    """No reader would take it."""
    assert send(broker, batch(b"", kind=kind, pack=lambda _: packed(kind))) is Code.MESSAGE_TOO_LARGE
    assert broker.topics.partition(T, 0).log.high_watermark == 0


@pytest.mark.parametrize("kind", [1, 4], ids=["gzip", "zstd"])
def test_a_thousand_streams_in_one_batch_are_unpacked_in_one_pass(kind):
    """The remaining input must not be copied for every stream."""
    each = PACKERS[kind](b"x")

    assert unpack(kind, each * 20_000) == b"x" * 20_000


def test_records_of_an_unavailable_codec_are_stored_compressed(broker, monkeypatch):
    """The codecs are no requirement of the broker: its clients may have what it has not."""
    sent = batch(record(), kind=LZ4, pack=PACKERS[LZ4])
    monkeypatch.setitem(sys.modules, "lz4.frame", None)

    assert send(broker, sent) is Code.NONE
    assert send(broker, sent, topic="compacted") is Code.UNSUPPORTED_COMPRESSION_TYPE


def test_ending_another_producers_transaction_is_refused(broker):
    """One producer could otherwise commit what another has not finished."""
    own = broker.coordinator.initialise("x", 60_000, None, broker.now_ms())
    other = broker.coordinator.initialise("y", 60_000, None, broker.now_ms())
    broker.coordinator.add_partitions("x", own, [TopicPartition(T, 0)], broker.now_ms())
    request = Request(transactional_id="x", producer_id=other.producer_id, producer_epoch=other.epoch, committed=True)

    answer = broker.serve(end_txn.handle, request, Context(4))

    assert answer["error_code"] is Code.INVALID_PRODUCER_ID_MAPPING
    assert broker.coordinator.describe("x").partitions


def test_adding_a_missing_partition_adds_no_partition(broker):
    """All or nothing."""
    own = broker.coordinator.initialise("x", 60_000, None, broker.now_ms())
    request = Request(
        v3_and_below_transactional_id="x",
        v3_and_below_producer_id=own.producer_id,
        v3_and_below_producer_epoch=own.epoch,
        v3_and_below_topics=[Request(name=T, partitions=tuple(range(100_000)))],
    )

    answer = broker.serve(add_partitions_to_txn.handle, request, Context(3))

    results = answer["results_by_topic_v3_and_below"][0]["results_by_partition"]
    codes = {each["partition_error_code"] for each in results}
    assert codes == {Code.UNKNOWN_TOPIC_OR_PARTITION, Code.OPERATION_NOT_ATTEMPTED}
    assert not broker.coordinator.describe("x").partitions


def test_a_group_without_a_name_commits_no_offsets(broker):
    """Its offsets could not be read back; adding it to a transaction is harmless and accepted by Kafka."""
    own = broker.coordinator.initialise("x", 60_000, None, broker.now_ms())
    named = {"transactional_id": "x", "group_id": "", "producer_id": own.producer_id, "producer_epoch": own.epoch}
    offset = Request(partition_index=0, committed_offset=1, committed_leader_epoch=-1, committed_metadata="")
    broker.serve(add_offsets_to_txn.handle, Request(**named), Context(3))

    request = Request(**named, topics=[Request(name=T, partitions=[offset])])
    answer = broker.serve(txn_offset_commit.handle, request, Context(3))

    assert answer["topics"][0]["partitions"][0]["error_code"] is Code.INVALID_GROUP_ID
