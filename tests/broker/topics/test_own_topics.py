"""Clients cannot write to the coordinators' topics, so every start can read them."""

from __future__ import annotations

import pytest

from conformance.calls import NOBODY, Caller, commit_plain
from eosfw.concurrency import ThreadRuntime
from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw_memory.client.transport.apis import Fields, milliseconds
from eosfw_memory.cluster import EmbeddedCluster
from eosfw_memory.common.codes import Code
from eosfw_memory.server.coordinators.transaction_log_records import encode_key
from eosfw_memory.storage.records.codec import encode_batch

OFFSETS, TRANSACTIONS = "__consumer_offsets", "__transaction_state"
T0 = TopicPartition("t", 0)
STRANGER = ProducerIdAndEpoch(1_000_005, 0)
ONE_EACH = {"offsets.topic.num.partitions": "1", "transaction.state.log.num.partitions": "1"}


@pytest.fixture
def start(tmp_path):
    """Restarts a broker on the same directory and connects a client."""
    running = []

    def end():
        while running:
            running.pop().close()

    def started() -> Caller:
        end()
        cluster = EmbeddedCluster.start({"log.dirs": str(tmp_path / "data"), **ONE_EACH}, ThreadRuntime())
        caller = Caller(cluster.bootstrap_servers)
        running.extend((cluster, caller))
        return caller

    yield started
    end()


def used(caller: Caller) -> ProducerIdAndEpoch:
    """Write to the logs of both coordinators; return the producer of the id `x`."""
    caller.create("t", 1)
    assert commit_plain(caller, "g", T0, 5).code is Code.NONE
    return caller.init("x").producer


def sent(caller: Caller, topic: str, key: bytes | None, value: bytes | None) -> Code:
    batch = encode_batch([key], [value], int(caller.runtime.wall() * 1000))
    topics = [Fields(name=topic, partition_data=[Fields(index=0, records=batch)])]
    answer = caller.ask(0, 11, transactional_id=None, acks=-1, timeout=milliseconds(30), topic_data=topics)
    return Code(int(answer["responses"][0]["partition_responses"][0]["error_code"]))


@pytest.mark.parametrize(
    ("topic", "key", "value"),
    [
        (TRANSACTIONS, b"junk", b"junk"),
        (TRANSACTIONS, None, b"junk"),
        (TRANSACTIONS, encode_key("x"), None),
        (TRANSACTIONS, encode_key("x"), b"\x07\x07"),
        (OFFSETS, b"\0\0\0", b"junk"),
        (OFFSETS, b"\0\1junk", None),
    ],
    ids=["junk", "no key", "a tombstone of somebody's", "junk of somebody's", "junk offsets", "half a key"],
)
def test_client_writes_to_internal_topics_are_refused_and_recovery_is_unchanged(start, topic, key, value):
    """COR-14: coordinators rebuild their state from there, so one forged record would change it."""
    caller = start()
    producer = used(caller)

    assert sent(caller, topic, key, value) is Code.INVALID_TOPIC_EXCEPTION

    caller = start()
    assert caller.describe("x") == ("Empty", producer)
    assert sent(caller, "t", b"k", b"v") is Code.NONE


@pytest.mark.parametrize("commit", [True, False], ids=["commit", "abort"])
def test_foreign_markers_in_internal_topics_are_ignored_at_start(start, commit):
    """COR-14, KIP-664: Kafka writes them, too."""
    caller = start()
    producer = used(caller)

    for topic in (TRANSACTIONS, OFFSETS):
        assert caller.mark(STRANGER, TopicPartition(topic, 0), 0, commit=commit).code is Code.NONE
        assert caller.mark(producer, TopicPartition(topic, 0), 0, commit=commit).code is Code.NONE

    caller = start()
    assert caller.describe("x") == ("Empty", producer)
    assert caller.init("x").producer == ProducerIdAndEpoch(producer.producer_id, producer.epoch + 1)
    assert caller.init("y").producer != NOBODY
