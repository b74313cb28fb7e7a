"""In a session a fetch and its answer name what changed, and nothing else (KIP-227), as with Kafka."""

from __future__ import annotations

import itertools
import uuid
from types import SimpleNamespace as Request

import pytest

from conformance.record_fields import WAIT, fetching, position, producing
from eosfw_memory.client.transport.apis import Fields, milliseconds
from eosfw_memory.common.codes import Code, KafkaError
from eosfw_memory.common.fetch_metadata import NO_SESSION
from eosfw_memory.server.broker.fetch_sessions import CachedPartition, FetchSessionCache

from ..brokers import fetched, produced, started, transactional
from .raw_batches import one

TWO_MINUTES_MS = 120_000
NOWHERE = 7
"""A partition that no topic here has."""


class Client:
    """A client that fetches from one topic by name."""

    def __init__(self, caller, topic) -> None:
        self.caller, self.topic = caller, topic
        self.session_id = 0

    def fetch(
        self,
        epoch,
        positions=None,
        forgotten=(),
        *,
        session_id=None,
        version=12,
        limit=1 << 20,
        topic_id=uuid.UUID(int=1),  # noqa: B008 - a constant
    ):
        """The code of an answer, and what it names: partitions with their codes and sizes."""
        topic = {"topic": self.topic, "topic_id": topic_id}
        partitions = [position(number, offset, limit) for number, offset in (positions or {}).items()]
        answer = self.caller.ask(
            1,
            version,
            **fetching(
                [Fields(**topic, partitions=partitions)] if partitions else [],
                max_bytes=limit,
                session_id=self.session_id if session_id is None else session_id,
                session_epoch=epoch,
                replica_state=Fields(replica_id=-1, replica_epoch=-1),
                forgotten_topics_data=[Fields(**topic, partitions=list(forgotten))] if forgotten else [],
            ),
        )
        self.session_id = answer["session_id"] or self.session_id
        named = [
            (each["partition_index"], Code(each["error_code"]), len(each["records"] or b""))
            for found in answer["responses"]
            for each in found["partitions"]
        ]
        return Code(answer["error_code"]), named

    def append(self, number) -> None:
        answer = self.caller.ask(0, 11, **producing([(self.topic, number, one())]))
        assert answer["responses"][0]["partition_responses"][0]["error_code"] == Code.NONE


def topic_id(caller, name):
    """The id of a topic; None where there is none of the name."""
    wanted = [Fields(name=name, topic_id=None)]
    asked = {"allow_auto_topic_creation": False, "include_topic_authorized_operations": False}
    [found] = caller.ask(3, 12, topics=wanted, **asked)["topics"]
    return None if found["error_code"] == Code.UNKNOWN_TOPIC_OR_PARTITION else found["topic_id"]


@pytest.fixture
def client(caller):
    name = f"s-{uuid.uuid4().hex[:8]}"
    caller.create(name, 3)
    return Client(caller, name)


@pytest.fixture
def session(client):
    """A client with a session of three empty partitions."""
    assert client.fetch(0, {0: 0, 1: 0, 2: 0}) == (Code.NONE, [(number, Code.NONE, 0) for number in range(3)])
    assert client.session_id > 0
    return client


class TestBesideKafka:
    def test_an_incremental_fetch_of_nothing_new_names_no_partition(self, session):
        """CON-06."""
        assert [session.fetch(epoch) for epoch in (1, 2, 3)] == [(Code.NONE, [])] * 3

    def test_a_partition_with_records_is_named_until_its_position_moves(self, session):
        """CON-06."""
        session.append(1)

        named = [(1, Code.NONE, len(one()))]
        assert [session.fetch(1), session.fetch(2)] == [(Code.NONE, named)] * 2
        assert session.fetch(3, {1: 1}) == (Code.NONE, [])

    def test_an_error_is_named_each_time_and_what_follows_it_once(self, session):
        """CON-06."""
        refused = [(0, Code.OFFSET_OUT_OF_RANGE, 0), (NOWHERE, Code.UNKNOWN_TOPIC_OR_PARTITION, 0)]

        assert session.fetch(1, {0: 99, NOWHERE: 0}) == (Code.NONE, refused)
        assert session.fetch(2) == (Code.NONE, refused)
        assert session.fetch(3, {0: 0}, [NOWHERE]) == (Code.NONE, [(0, Code.NONE, 0)])
        assert session.fetch(4) == (Code.NONE, [])

    def test_a_fetch_that_its_session_does_not_expect_changes_nothing(self, session):
        """CON-07."""
        assert session.fetch(1, session_id=session.session_id - 1) == (Code.FETCH_SESSION_ID_NOT_FOUND, [])
        assert session.fetch(2, {0: 99}) == (Code.INVALID_FETCH_SESSION_EPOCH, [])
        assert session.fetch(1, {0: 99}, version=13) == (Code.FETCH_SESSION_TOPIC_ID_ERROR, [])
        assert session.fetch(1) == (Code.NONE, [])
        assert session.fetch(1) == (Code.INVALID_FETCH_SESSION_EPOCH, [])

    def test_forgotten_partitions_are_read_no_more_and_a_session_ends_with_its_last_one(self, session):
        """CON-06."""
        for number in range(3):
            session.append(number)

        assert session.fetch(1, forgotten=[0, 2]) == (Code.NONE, [(1, Code.NONE, len(one()))])
        assert session.fetch(2, forgotten=[1]) == (Code.NONE, [])
        assert session.fetch(3) == (Code.FETCH_SESSION_ID_NOT_FOUND, [])

    @pytest.mark.parametrize("epoch", [0, -1], ids=["another one", "none"])
    def test_a_full_fetch_ends_the_session_that_it_names(self, session, epoch):
        """CON-07."""
        before = session.session_id

        assert session.fetch(epoch, {0: 0}) == (Code.NONE, [(0, Code.NONE, 0)])

        assert session.fetch(1, session_id=before) == (Code.FETCH_SESSION_ID_NOT_FOUND, [])
        assert (session.session_id == before) is (epoch == -1)

    def test_a_session_by_id_tells_that_its_topic_was_created_anew(self, caller, client):
        """CON-06: under its name there is another one, whose partitions are not those that the client reads."""
        first = topic_id(caller, client.topic)
        assert client.fetch(0, {0: 0, NOWHERE: 0}, version=16, topic_id=first)[0] is Code.NONE
        caller.ask(20, 5, topic_names=[client.topic], timeout=milliseconds(WAIT))
        caller.until(lambda: topic_id(caller, client.topic) is None)
        caller.create(client.topic, 3)

        anew = [(0, Code.INCONSISTENT_TOPIC_ID, 0), (NOWHERE, Code.UNKNOWN_TOPIC_OR_PARTITION, 0)]
        assert client.fetch(1, version=16) == (Code.NONE, anew)

    def test_partitions_of_a_session_take_turns(self, session):
        """CON-06: an answer with room for one batch has that of the partition that waited longest."""
        for number in range(3):
            session.append(number)
        size = len(one())

        first = [session.fetch(epoch, limit=size)[1] for epoch in (1, 2, 3, 4)]

        assert [[number for number, _, found in named if found] for named in first] == [[0], [1], [2], [0]]


class Clock:
    def __init__(self) -> None:
        self.ms = 0

    def __call__(self) -> int:
        return self.ms


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def cache(clock):
    """Room for two sessions, which get the ids 1, 2 and so on."""
    return FetchSessionCache(2, clock, itertools.count(1).__next__)


def begin(cache, size, *, privileged=False):
    wanted = [CachedPartition("t", Request(partition=number)) for number in range(size)]
    return cache.create(wanted, privileged=privileged, by_id=False)


def use(cache, session_id):
    """Whether there is such a session."""
    for epoch in range(1, 9):
        try:
            cache.advance(cache.use(session_id, epoch, by_id=False))
        except KafkaError as refused:
            if refused.code is Code.FETCH_SESSION_ID_NOT_FOUND:
                return False
        else:
            return True
    raise AssertionError


class TestEviction:
    def test_a_new_session_takes_no_place_of_one_in_use(self, cache):
        """CON-08."""
        assert [begin(cache, size) for size in (1, 1, 9)] == [1, 2, NO_SESSION]

    def test_a_session_that_was_not_used_for_two_minutes_makes_room(self, cache, clock):
        """CON-08."""
        begin(cache, 5), begin(cache, 5)
        clock.ms = TWO_MINUTES_MS + 1
        assert use(cache, 1)

        assert begin(cache, 1) == 3
        assert [use(cache, each) for each in (1, 2, 3)] == [True, False, True]

    @pytest.mark.parametrize(("size", "evicted"), [(4, False), (5, False), (6, True)])
    def test_an_old_session_makes_room_for_one_with_more_partitions(self, cache, clock, size, evicted):
        """CON-08."""
        begin(cache, 5), begin(cache, 9)
        clock.ms = TWO_MINUTES_MS
        assert use(cache, 1)
        assert use(cache, 2)
        assert begin(cache, 99) == NO_SESSION  # two minutes to the millisecond are not old
        clock.ms += 1
        assert use(cache, 1)
        assert use(cache, 2)

        assert (begin(cache, size) == 3) is evicted
        assert [use(cache, 1), use(cache, 2)] == [not evicted, True]

    def test_a_replica_takes_the_place_of_a_client_never_the_other_way_round(self, cache):
        """CON-08."""
        begin(cache, 9)

        assert [begin(cache, 1, privileged=True) for _ in range(3)] == [2, 3, NO_SESSION]
        assert begin(cache, 99) == NO_SESSION

    def test_a_broker_without_slots_answers_in_full(self):
        """CON-08."""
        broker = started(properties={"max.incremental.fetch.session.cache.slots": "0"}, t=1)

        assert fetched(broker, 0, 0, {0: 0}).session_id == NO_SESSION


def test_a_fetch_in_another_connection_ends_the_turn_of_one_that_waits(broker):
    """CON-07: of two fetches in one session the later one counts, or a client would miss what the other was told."""
    session_id = fetched(broker, 0, 0, {0: 0}).session_id
    delayed = fetched(broker, session_id, 1, {}, max_wait_ms=60_000)
    assert fetched(broker, session_id, 2, {}).error_code is Code.NONE

    answer = broker.attempt(delayed, expired=True)

    assert (answer["error_code"], answer["responses"]) == (Code.INVALID_FETCH_SESSION_EPOCH, [])


def test_a_restart_ends_every_session(broker):
    """CON-07."""
    session_id = fetched(broker, 0, 0, {0: 0}).session_id

    broker.restart()

    assert fetched(broker, session_id, 1, {}).error_code is Code.FETCH_SESSION_ID_NOT_FOUND


def test_a_fetch_in_a_session_waits_for_records(broker):
    """CON-06."""
    session_id = fetched(broker, 0, 0, {0: 0}).session_id
    delayed = fetched(broker, session_id, 1, {}, max_wait_ms=60_000)
    assert broker.attempt(delayed, expired=False) is None

    producer = broker.coordinator.initialise("x", 60_000, None, broker.now_ms())
    broker.coordinator.add_partitions("x", producer, [broker.topics.by_name("t").partitions[0].log.where], 0)
    assert produced(broker, transactional(broker, producer), transactional_id="x") is Code.NONE

    [topic] = broker.attempt(delayed, expired=False)["responses"]
    assert [each["partition_index"] for each in topic["partitions"]] == [0]
