"""Records of the transaction log have Kafka's bytes."""

from __future__ import annotations

import struct
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.calls import Caller
from eosfw.concurrency import ThreadRuntime
from eosfw.errors import DamagedDataError
from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw.protocols import IsolationLevel
from eosfw.records import OffsetRange
from eosfw_memory.client.backend import MemoryBackend
from eosfw_memory.common.codes import Code
from eosfw_memory.server.coordinators.log_partition import partition_for
from eosfw_memory.server.coordinators.transaction_log_records import decode_key, decode_value, encode_key, encode_value
from eosfw_memory.server.coordinators.transaction_metadata import NO_EPOCH, TransactionMetadata
from eosfw_memory.server.coordinators.transaction_state import TransactionState

EMPTY = TransactionMetadata("t", 4711, 3, 60_000, TransactionState.EMPTY, updated_ms=5)
EMPTY_BYTES = bytes.fromhex(
    "0001"  # version 1
    "0000000000001267"  # producer id
    "0003"  # epoch
    "0000ea60"  # timeout
    "00"  # Empty
    "00"  # no partitions: null
    "0000000000000005"  # updated
    "ffffffffffffffff"  # not started
    "00"  # no tagged fields
)
ONGOING = TransactionMetadata(
    "t",
    4711,
    3,
    60_000,
    TransactionState.ONGOING,
    frozenset({TopicPartition("ab", 1), TopicPartition("ab", 0)}),
    6,
    5,
    previous_producer_id=9,
)
ONGOING_BYTES = bytes.fromhex(
    "0001" "0000000000001267" "0003" "0000ea60"
    "01"  # Ongoing
    "02" "036162" "03" "00000000" "00000001" "00"  # one topic "ab" of partitions 0 and 1
    "0000000000000006" "0000000000000005"
    "01" "00" "08" "0000000000000009"  # one tagged field, 0 of 8 bytes: the previous producer id
)  # fmt: skip


@pytest.mark.parametrize(("metadata", "value"), [(EMPTY, EMPTY_BYTES), (ONGOING, ONGOING_BYTES)])
def test_values_are_written_in_kafkas_version_1(metadata, value):
    """COR-13."""
    assert encode_value(metadata) == value
    assert decode_value("t", value) == metadata


def test_values_of_version_0_are_read():
    """COR-13: brokers before the flexible format wrote them."""
    head = struct.pack(">hqhib", 0, 4711, 3, 60_000, 1)
    partitions = struct.pack(">ih2si2i", 1, 2, b"ab", 2, 0, 1)

    found = decode_value("t", head + partitions + struct.pack(">qq", 6, 5))

    assert found.partitions == ONGOING.partitions
    assert (found.updated_ms, found.started_ms) == (6, 5)


def test_keys_are_written_in_kafkas_version_0():
    """COR-13."""
    assert encode_key("tä") == b"\0\0\0\3t\xc3\xa4"
    assert decode_key(encode_key("tä")) == "tä"


def test_unknown_key_versions_are_ignored_but_newer_value_versions_are_errors():
    """COR-13."""
    assert decode_key(b"\0\1\0\1t") is None
    with pytest.raises(DamagedDataError, match=r"version 2.*newer broker"):
        decode_value("t", b"\0\2" + EMPTY_BYTES[2:])


def test_a_truncated_value_is_a_damage_error():
    """COR-13."""
    for cut in range(len(ONGOING_BYTES)):
        with pytest.raises(DamagedDataError):
            decode_value("t", ONGOING_BYTES[:cut])


TRANSACTION_LOG = "__transaction_state"
WAIT = 20.0
_numbers = st.integers(0, 2**63 - 1)
_partitions = st.frozensets(st.builds(TopicPartition, st.text("ab.-_9", min_size=1), st.integers(0, 2**31 - 1)))


@given(
    st.builds(
        TransactionMetadata,
        st.just("t"),
        _numbers,
        st.integers(0, 32767),
        st.integers(1, 900_000),
        st.sampled_from([state for state in TransactionState if state is not TransactionState.EMPTY]),
        _partitions,
        _numbers,
        _numbers,
        st.just(NO_EPOCH),
        st.integers(-1, 2**63 - 1),
        st.integers(-1, 2**63 - 1),
        st.sampled_from([0, 2]),
    )
)
def test_a_written_record_is_read_back_unchanged(metadata):
    """COR-13."""
    assert decode_value("t", encode_value(metadata)) == metadata


KAFKAS_PARTITIONS = {
    "": (0, 0),
    "eos": (17, 2),
    "connect-cluster-a-0": (10, 0),
    "polygenelubricants": (0, 0),
    "zombie": (40, 0),
    "transactional-id": (31, 1),
    "\u00e9t\u00e9": (42, 2),
    "\u65e5\u672c": (47, 2),
    "\U0001f600 id": (14, 4),
    "bulk-42": (1, 1),
    "x" * 249: (46, 1),
}
"""Of 50, and of 5."""


def test_ids_and_groups_lie_where_kafka_puts_them():
    """COR-01: what Kafka 4.1.1's own Utils.abs(hashCode) % n gave, negative hashes, the least one, too."""
    found = {text: (partition_for(text, 50), partition_for(text, 5)) for text in KAFKAS_PARTITIONS}

    assert found == KAFKAS_PARTITIONS


# --- beside a real Kafka


def logged(servers: str) -> list[tuple[bytes, bytes | None]]:
    """Every record of the transaction log."""
    backend = MemoryBackend.connect({"bootstrap.servers": servers, "eosfw.transport": "socket"}, ThreadRuntime())
    try:
        count = backend.admin().partitions([TRANSACTION_LOG])[TRANSACTION_LOG]
        partitions = [TopicPartition(TRANSACTION_LOG, number) for number in range(count)]
        ends = backend.admin().end_offsets(partitions, IsolationLevel.READ_UNCOMMITTED)
        reader = backend.reader(IsolationLevel.READ_UNCOMMITTED)
        batches = reader.read({where: OffsetRange(0, end) for where, end in ends.items() if end}, WAIT)
        return [pair for batch in batches for pair in zip(batch.keys, batch.values, strict=True)]
    finally:
        backend.close()


def initialised(caller: Caller, name: str) -> ProducerIdAndEpoch:
    reported = caller.init(name)
    assert reported.code is Code.NONE
    return reported.producer


def test_every_record_is_written_again_to_the_byte(cluster, caller):
    """COR-13: by clients of both versions, in every state that is logged."""
    name = f"bytes-{uuid.uuid4().hex[:8]}"
    where = TopicPartition(name, 0)
    caller.create(name, 1)
    caller.warm_up(name, where)
    old = initialised(caller, name)
    assert caller.add(name, old, where).code is Code.NONE
    assert caller.end(name, old, 4).code is Code.NONE
    caller.settled(name)
    for commit in (True, False):
        new = initialised(caller, name)
        assert caller.produce(name, new, where, 0).code is Code.NONE
        assert caller.end(name, new, commit=commit).code is Code.NONE
        caller.settled(name)

    found = [(key, value) for key, value in logged(cluster.bootstrap_servers) if decode_key(key) == name]

    states = [decode_value(name, value) for _, value in found]
    assert [encode_key(name)] * len(found) == [key for key, _ in found]
    assert [encode_value(each) for each in states] == [value for _, value in found]
    assert {each.state.label for each in states} >= {
        "Empty", "Ongoing", "PrepareCommit", "CompleteCommit", "PrepareAbort", "CompleteAbort",
    }  # fmt: skip
    assert {each.client_version for each in states} == {0, 2}
