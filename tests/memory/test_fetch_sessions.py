"""The memory client's reader names partitions once, not in every fetch (KIP-227)."""

from __future__ import annotations

import itertools

import pytest

from eosfw.ids import TopicPartition
from eosfw.records import OffsetRange
from eosfw_memory.client.backend import MemoryBackend
from eosfw_memory.client.consumer.fetch_session_handler import FetchSessionHandler
from eosfw_memory.cluster import EmbeddedCluster
from eosfw_memory.common.codes import Code
from pytest_eos.contracts.backends.harness import COMMITTED, WAIT, BackendHarness

MANY = [TopicPartition("t", number) for number in range(20)]
POSITIONS = dict.fromkeys(MANY, 0)


@pytest.fixture
def handler():
    """In a session, 7, whose next fetch has epoch 1."""
    made = FetchSessionHandler()
    assert made.next_fetch(POSITIONS) == (0, 0, POSITIONS, ())
    made.on_answer(Code.NONE, 7)
    return made


def test_a_fetch_in_a_session_names_what_moved_came_and_went(handler):
    """CON-06."""
    new = TopicPartition("u", 0)
    wanted = {**dict.fromkeys(MANY[2:], 0), MANY[2]: 5, new: 1}

    assert handler.next_fetch(wanted) == (7, 1, {MANY[2]: 5, new: 1}, MANY[:2])
    handler.on_answer(Code.NONE, 7)
    assert handler.next_fetch(wanted) == (7, 2, {}, [])


@pytest.mark.parametrize(
    ("end", "named"),
    [
        (lambda handler: handler.on_answer(Code.FETCH_SESSION_ID_NOT_FOUND, 0), 0),
        (lambda handler: handler.on_answer(Code.INVALID_FETCH_SESSION_EPOCH, 0), 7),
        (lambda handler: handler.on_answer(Code.NONE, 0), 0),
        (lambda handler: handler.on_no_answer(), 7),
    ],
    ids=["not found", "wrong epoch", "ended", "no answer"],
)
def test_without_its_session_a_fetch_names_all_partitions(handler, end, named):
    """CON-07: what the broker may still have of the session is ended with it."""
    handler.next_fetch({MANY[0]: 3})

    end(handler)

    assert handler.next_fetch(POSITIONS) == (named, 0, POSITIONS, ())


def test_few_partitions_are_read_without_a_session():
    """CON-08: brokers keep a thousand sessions only."""
    few = dict.fromkeys(MANY[:3], 0)

    assert FetchSessionHandler().next_fetch(few) == (0, -1, few, ())


@pytest.mark.parametrize("transport", ["direct", "socket"])
def test_a_reader_goes_on_when_its_session_is_gone(transport, runtime):
    """CON-07: every record is read once."""
    cluster = EmbeddedCluster.start({}, runtime)
    servers = cluster.bootstrap_servers
    backend = MemoryBackend.connect({"bootstrap.servers": servers, "eosfw.transport": transport}, runtime)
    lab = BackendHarness(backend, runtime)
    topic = lab.topic(len(MANY))
    wanted = {TopicPartition(topic, number): OffsetRange(0, 2) for number in range(len(MANY))}
    reading = backend.reader(COMMITTED).read(wanted, WAIT)
    found = []
    for _ in range(2):
        for number in range(len(MANY)):
            lab.write(topic, b"v", partition=number)
        found += itertools.islice(reading, len(MANY))
        assert len(cluster.broker.fetch_sessions) == 1
        cluster.broker.fetch_sessions.clear()

    assert list(reading) == []
    assert sorted((each.partition, tuple(each.offsets)) for each in found) == [
        (number, (offset,)) for number in range(len(MANY)) for offset in range(2)
    ]
    lab.close()
    cluster.close()
