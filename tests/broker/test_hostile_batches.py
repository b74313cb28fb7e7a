"""Batches that no honest client sends are refused with Kafka's codes, and leave nothing (hostile rows 30, 32-34)."""

from __future__ import annotations

import gzip
import struct
from importlib import import_module
from types import SimpleNamespace as Request

import pytest
from crc32c import crc32c

from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw.waiting import ThreadRuntime
from eosfw_memory.broker import Broker, Context
from eosfw_memory.codes import Code
from eosfw_memory.coordinators.states import Outcome
from eosfw_memory.log.batch import HEADER, LENGTH_END
from eosfw_memory.log.codec import encode_batch
from eosfw_memory.log.compression import MAX_UNPACKED, unpack
from eosfw_memory.log.errors import MessageTooLargeError
from eosfw_memory.log.markers import marker
from eosfw_memory.settings import Endpoint, Settings
from eosfw_memory.wire.requests import (
    add_offsets_to_txn,
    add_partitions_to_txn,
    end_txn,
    list_offsets,
    produce,
    txn_offset_commit,
)

T = "t"
FIELDS = ["base_offset", "length", "leader_epoch", "magic", "crc", "attributes", "last_delta", "first", "newest"]
FIELDS += ["producer_id", "epoch", "sequence", "records"]


@pytest.fixture
def broker():
    made = Broker(Settings.parse({}), Endpoint("127.0.0.1", 9092), ThreadRuntime())
    made.topics.create(T, 2, {})
    made.topics.create("compacted", 1, {"cleanup.policy": "compact"})
    return made


def patched(batch: bytes, **changes: int) -> bytes:
    """A batch whose header says something else, with the checksum that fits."""
    values = dict(zip(FIELDS, HEADER.unpack_from(batch), strict=True)) | changes
    head = HEADER.pack(*values.values())
    if "crc" not in changes:
        values["crc"] = crc32c(head[21:] + batch[HEADER.size :])
        head = HEADER.pack(*values.values())
    return head + batch[HEADER.size :]


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


def compressed(broker, kind: int, packed: bytes) -> bytes:
    batch = plain(broker)[: HEADER.size] + packed
    return patched(batch, attributes=kind, length=len(batch) - LENGTH_END)


WRONG = {
    "no bytes at all": (lambda _: b"", {Code.INVALID_RECORD, Code.CORRUPT_MESSAGE}),
    "half a header": (lambda b: plain(b)[:30], {Code.CORRUPT_MESSAGE, Code.INVALID_RECORD}),
    "cut off": (lambda b: plain(b)[:-1], {Code.CORRUPT_MESSAGE, Code.INVALID_RECORD}),
    "two batches": (lambda b: plain(b) * 2, {Code.INVALID_RECORD}),
    "wrong checksum": (lambda b: plain(b, crc=1), {Code.CORRUPT_MESSAGE}),
    "magic 0": (lambda b: plain(b, magic=0), {Code.INVALID_RECORD, Code.CORRUPT_MESSAGE}),
    "magic 127": (lambda b: plain(b, magic=127), {Code.INVALID_RECORD, Code.CORRUPT_MESSAGE}),
    "length -1": (lambda b: plain(b, length=-1), {Code.CORRUPT_MESSAGE, Code.INVALID_RECORD}),
    "length 2^31-1": (lambda b: plain(b, length=2**31 - 1), {Code.CORRUPT_MESSAGE, Code.INVALID_RECORD}),
    "no records": (lambda b: plain(b, records=0), {Code.INVALID_RECORD}),
    "-1 records": (lambda b: plain(b, records=-1), {Code.INVALID_RECORD}),
    "2^31-1 records": (lambda b: plain(b, records=2**31 - 1), {Code.INVALID_RECORD}),
    "spans more offsets than records": (lambda b: plain(b, last_delta=5), {Code.INVALID_RECORD}),
    "base offset not 0": (lambda b: plain(b, base_offset=5), {Code.INVALID_RECORD}),
    "timestamp an hour and more ahead": (lambda b: plain(b, newest=b.now_ms() + 3_700_000), {Code.INVALID_TIMESTAMP}),
    "log append time": (lambda b: plain(b, attributes=8), {Code.INVALID_TIMESTAMP}),
    "marker": (
        lambda b: patched(marker(ProducerIdAndEpoch(7, 0), Outcome.COMMIT, 0, b.now_ms()), base_offset=0),
        {Code.TRANSACTIONAL_ID_AUTHORIZATION_FAILED},
    ),
    "control flag on data": (lambda b: patched(idempotent(b), attributes=0x20), {Code.INVALID_RECORD}),
    "epoch -1": (lambda b: idempotent(b, epoch=-1), {Code.INVALID_RECORD}),
    "sequence -5": (lambda b: idempotent(b, sequence=-5), {Code.INVALID_RECORD}),
    "transactional flag without id": (
        lambda b: idempotent(b, transactional=True),
        {Code.TRANSACTIONAL_ID_AUTHORIZATION_FAILED},
    ),
    "compression 7": (lambda b: plain(b, attributes=7), {Code.UNSUPPORTED_COMPRESSION_TYPE}),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_batch_that_no_client_sends_is_refused_and_leaves_nothing(broker, name):
    make, codes = WRONG[name]

    code = send(broker, make(broker))

    log = broker.topics.partition(T, 0).log
    assert code in codes
    assert (log.high_watermark, dict(log.producers())) == (0, {})


@pytest.mark.parametrize("stamp", [-(2**63), 2**63 - 1, -2, -1, 0])
def test_no_timestamp_is_an_accident(broker, stamp):
    """Hostile row 43: taken or refused, then still readable."""
    code = send(broker, plain(broker, first=stamp, newest=stamp))

    assert code in (Code.NONE, Code.INVALID_TIMESTAMP)
    assert send(broker, plain(broker)) is Code.NONE
    wanted = Request(partition_index=0, timestamp=broker.now_ms() - 1000)
    request = Request(isolation_level=0, topics=[Request(name=T, partitions=[wanted])])
    answer = broker.serve(list_offsets.handle, request, Context(4))
    assert answer["topics"][0]["partitions"][0]["error_code"] is Code.NONE


def test_an_epoch_kept_for_fencing_is_no_ones(broker):
    """COR-04: 32767 is given to nobody; a partition that has seen it takes nothing older."""
    own = broker.coordinator.initialise("x", 60_000, None, broker.now_ms())
    broker.coordinator.add_partitions("x", own, [TopicPartition(T, 0)], broker.now_ms())

    code = send(broker, idempotent(broker, own.producer_id, 32767, transactional=True), transactional_id="x")

    assert code in (Code.INVALID_PRODUCER_EPOCH, Code.PRODUCER_FENCED)
    assert (
        send(broker, idempotent(broker, own.producer_id, own.epoch, transactional=True), transactional_id="x")
        is Code.NONE
    )


def test_a_second_producer_id_in_a_transactional_request_gets_nothing_in(broker):
    """Hostile row 32: the transactional id vouches for one producer id."""
    own = broker.coordinator.initialise("x", 60_000, None, broker.now_ms())
    both = [TopicPartition(T, number) for number in range(2)]
    broker.coordinator.add_partitions("x", own, both, broker.now_ms())
    batches = [idempotent(broker, own.producer_id + extra, 0, transactional=True) for extra in (0, 1)]
    data = [Request(index=number, records=batch) for number, batch in enumerate(batches)]
    request = Request(transactional_id="x", acks=-1, topic_data=[Request(name=T, partition_data=data)])

    answer = broker.serve(produce.handle, request, Context(11))

    codes = [each["error_code"] for each in answer["responses"][0]["partition_responses"]]
    assert codes[1] is Code.INVALID_PRODUCER_ID_MAPPING
    assert broker.topics.partition(T, 1).log.high_watermark == 0


def test_an_id_without_the_flag_makes_a_batch_no_part_of_its_transaction(broker):
    """Hostile row 32: visible at once, like any other."""
    own = broker.coordinator.initialise("x", 60_000, None, broker.now_ms())

    assert send(broker, idempotent(broker, own.producer_id, own.epoch), transactional_id="x") is Code.NONE
    assert broker.topics.partition(T, 0).log.last_stable_offset == 1


ZEROS = bytes(MAX_UNPACKED + 1)


def packed(kind: int) -> bytes:
    if kind == 1:
        return gzip.compress(ZEROS, 9)
    if kind == 2:
        return bytes(import_module("cramjam").snappy.compress_raw(ZEROS))
    if kind == 3:
        return import_module("lz4.frame").compress(ZEROS)
    return import_module("zstandard").compress(ZEROS)


@pytest.mark.parametrize("kind", [1, 2, 3, 4], ids=["gzip", "snappy", "lz4", "zstd"])
def test_a_bomb_is_unpacked_no_further_than_the_limit(kind):
    """Hostile row 33."""
    with pytest.raises(MessageTooLargeError):
        unpack(kind, packed(kind))


LARGE_BLOCK = b"\x82SNAPPY\0" + struct.pack(">iii", 1, 1, 0x7FFFFFFF) + b"short"
BROKEN = {
    "snappy block of 0x7fffffff": (2, LARGE_BLOCK),
    "snappy of 0x7fffffff": (2, b"\xff\xff\xff\xff\x07" + b"short"),
    "gzip cut off": (1, gzip.compress(b"records")[:-9]),
    "gzip with more behind it": (1, gzip.compress(b"records") + b"more"),
    "zstd noise": (4, b"\x28\xb5\x2f\xfd" + b"\xff" * 20),
    "lz4 noise": (3, b"\x04\x22\x4d\x18" + b"\xff" * 20),
    "nothing": (1, b""),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_cannot_be_unpacked_is_refused_where_the_broker_must_look_inside(broker, name):
    """Only a compacted topic needs that, for the keys; elsewhere batches stay closed."""
    kind, data = BROKEN[name]

    code = send(broker, compressed(broker, kind, data), topic="compacted")

    assert code in (
        Code.CORRUPT_MESSAGE,
        Code.MESSAGE_TOO_LARGE,
        Code.INVALID_RECORD,
        Code.UNSUPPORTED_COMPRESSION_TYPE,
    )
    assert broker.topics.partition("compacted", 0).log.high_watermark == 0


@pytest.mark.parametrize("name", BROKEN)
def test_a_closed_batch_that_turns_out_broken_spoils_one_look_up_by_time_not_the_broker(broker, name):
    kind, data = BROKEN[name]
    assert send(broker, compressed(broker, kind, data)) is Code.NONE
    wanted = Request(partition_index=0, timestamp=0)
    request = Request(isolation_level=0, topics=[Request(name=T, partitions=[wanted])])

    answer = broker.serve(list_offsets.handle, request, Context(4))

    code = answer["topics"][0]["partitions"][0]["error_code"]
    assert code in (Code.CORRUPT_MESSAGE, Code.MESSAGE_TOO_LARGE, Code.UNSUPPORTED_COMPRESSION_TYPE)


def test_the_end_of_a_transaction_of_somebody_else_is_refused(broker):
    """Hostile row 34."""
    own = broker.coordinator.initialise("x", 60_000, None, broker.now_ms())
    other = broker.coordinator.initialise("y", 60_000, None, broker.now_ms())
    broker.coordinator.add_partitions("x", own, [TopicPartition(T, 0)], broker.now_ms())
    request = Request(transactional_id="x", producer_id=other.producer_id, producer_epoch=other.epoch, committed=True)

    answer = broker.serve(end_txn.handle, request, Context(4))

    assert answer["error_code"] is Code.INVALID_PRODUCER_ID_MAPPING
    assert broker.coordinator.describe("x").partitions


def test_partitions_that_do_not_exist_add_none(broker):
    """Hostile row 34: all or nothing."""
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
    """Hostile row 34; adding it to a transaction is harmless, and Kafka lets it pass."""
    own = broker.coordinator.initialise("x", 60_000, None, broker.now_ms())
    named = {"transactional_id": "x", "group_id": "", "producer_id": own.producer_id, "producer_epoch": own.epoch}
    offset = Request(partition_index=0, committed_offset=1, committed_leader_epoch=-1, committed_metadata="")
    broker.serve(add_offsets_to_txn.handle, Request(**named), Context(3))

    request = Request(**named, topics=[Request(name=T, partitions=[offset])])
    answer = broker.serve(txn_offset_commit.handle, request, Context(3))

    assert answer["topics"][0]["partitions"][0]["error_code"] is Code.INVALID_GROUP_ID
