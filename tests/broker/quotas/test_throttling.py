"""A client beyond its quota gets a time to wait, and waits; the others do not."""

from __future__ import annotations

import datetime as dt
import uuid
from types import SimpleNamespace as Request

import pytest

from conformance.calls import WAIT, Caller
from conformance.record_fields import producing
from eosfw.concurrency import ThreadRuntime
from eosfw_memory.client.transport.apis import Fields
from eosfw_memory.client.transport.messages import format_of
from eosfw_memory.client.transport.sockets import SocketNetwork
from eosfw_memory.cluster import EmbeddedCluster
from eosfw_memory.common.codes import Code
from eosfw_memory.server.broker.broker import Context
from eosfw_memory.server.protocol.handlers.records import fetch
from eosfw_memory.server.quotas.client_quota_entity import Client
from eosfw_memory.server.quotas.request_quota import RequestQuota
from eosfw_memory.storage.records.codec import encode_batch

from ..brokers import fetched, produced, started
from ..event_loop_clock import EventLoopClock
from ..groups.group_requests import Raw
from .test_alterations import EXACT, FETCH, PRODUCE, TIME, altered, described

PRODUCE_REQUEST, METADATA = 0, 3
NOW = 1_700_000_000_000


def produce(topic, size, acks=-1):
    return producing([(topic, 0, encode_batch(None, [bytes(size)], NOW))], acks=acks)


def throttle_ms(answer) -> float:
    return answer["throttle_time"] / dt.timedelta(milliseconds=1)


def test_a_producer_gets_the_throttle_time_that_kafka_gives(cluster):
    """QUO-03: a request of S bytes, over ten seconds, with a quota of 1000 a second: S - 10000 ms."""
    client_id = f"q-{uuid.uuid4().hex[:8]}"
    made = Caller(cluster.bootstrap_servers, SocketNetwork(cluster.bootstrap_servers, client_id, WAIT, ThreadRuntime()))
    entity = [("client-id", client_id)]
    assert altered(made, (entity, [(PRODUCE, 1000.0)])) == [Code.NONE]
    made.until(lambda: described(made, ("client-id", EXACT, client_id)) != {})
    made.create(client_id, 1)  # a real Kafka shows a quota before it obeys it, but takes changes one after another
    size = len(format_of(PRODUCE_REQUEST, 11).frame(1, client_id, Fields(**produce(client_id, 9_900)))) - 4

    throttle = throttle_ms(made.ask(PRODUCE_REQUEST, 11, **produce(client_id, 9_900)))

    altered(made, (entity, [(PRODUCE, None)]))
    made.close()
    assert throttle == size - 10_000 > 0


@pytest.fixture(scope="module")
def limited():
    """A cluster whose client `raw` may produce 1000 bytes a second."""
    cluster = EmbeddedCluster.start({}, ThreadRuntime())
    caller = Caller(cluster.bootstrap_servers)
    caller.create("t", 1)
    assert altered(caller, ([("client-id", "raw")], [(PRODUCE, 1000.0)])) == [Code.NONE]
    caller.close()
    yield cluster
    cluster.close()


@pytest.mark.parametrize("acks", [-1, 0], ids=["answered", "not answered"])
def test_the_requests_behind_one_beyond_the_quota_wait_and_other_clients_do_not(limited, until, acks):
    """QUO-05: for as long as the answer says, by the broker's clock."""
    client = Raw(limited.bootstrap_servers)
    client.send(PRODUCE_REQUEST, 9, **produce("t", 900_000, acks))
    if acks:
        assert throttle_ms(client.receive()) > 800_000
    else:
        client.expect_nothing()
    client.send(METADATA, 4, topics=(), allow_auto_topic_creation=False)
    until(lambda: [len(each._frames) for each in tuple(limited._server._connections) if each._throttle] == [1])
    EventLoopClock(limited).put_forward(700)  # connections.max.idle.ms is less, and does not count meanwhile

    neighbour = Caller(limited.bootstrap_servers)
    assert neighbour.ask(METADATA, 4, topics=(), allow_auto_topic_creation=False)["brokers"]
    limited.broker.jump(100.0)
    assert neighbour.ask(METADATA, 4, topics=(), allow_auto_topic_creation=False)["brokers"]
    assert [len(each._frames) for each in tuple(limited._server._connections) if each._throttle] == [1]
    limited.broker.jump(1000.0)

    assert client.receive()["brokers"]
    client.close()
    neighbour.close()


def test_a_throttled_client_that_goes_away_leaves_nothing_behind(limited, until):
    """QUO-05."""
    client = Raw(limited.bootstrap_servers)
    client.send(PRODUCE_REQUEST, 9, **produce("t", 900_000))
    assert throttle_ms(client.receive()) > 800_000

    client.close()

    until(lambda: not limited._server._connections)
    limited.broker.jump(1000.0)


def counted(broker):
    return RequestQuota(broker.client_quotas, Client("ANONYMOUS", "app"), broker.client_quotas.clock())


def poll(broker, session_id, epoch, positions, quota):
    """The answer, and the bytes of each partition that it names."""
    answer = fetched(broker, session_id, epoch, positions, quota=quota)
    named = [
        (each["partition_index"], sum(map(len, each["records"])))
        for one in answer.responses
        for each in one["partitions"]
    ]
    return answer, named


@pytest.fixture
def broker():
    """One whose clients may fetch 1000 bytes a second; a record of 6000 is there."""
    made = started(t=1)
    made.quota_control.alter([(frozenset({("client-id", None)}), {FETCH: 1000.0})])
    assert produced(made, encode_batch(None, [bytes(6000)], NOW)) is Code.NONE
    return made


@pytest.mark.parametrize("session", [False, True], ids=["without a session", "in a session"])
def test_a_consumer_beyond_its_quota_gets_nothing_and_later_all_of_it(broker, session):
    """QUO-03: an answer that is not sent costs no bytes."""
    first, _ = poll(broker, 0, 0 if session else -1, {0: 0}, counted(broker))
    ids = (first.session_id, 1) if session else (0, -1)
    broker.jump(5.0)
    again, later = counted(broker), counted(broker)

    throttled, named = poll(broker, *ids, {0: 0}, again)
    assert (throttled.error_code, throttled.session_id, named) == (Code.NONE, first.session_id, [])
    assert 2000 <= again.throttle_ms() < 3000
    # The first answer counts no more, what was asked 7 s ago would.
    broker.jump(7.0)
    ids = (first.session_id, 2) if session else (0, -1)
    _, named = poll(broker, *ids, {} if session else {0: 0}, later)

    assert [number for number, size in named if size > 6000] == [0]
    assert later.throttle_ms() == 0


def test_a_fetch_is_held_to_what_a_client_may_read_at_all(broker):
    """QUO-03: else one of more than all windows would be turned away for ever."""
    for _ in range(3):
        assert produced(broker, encode_batch(None, [bytes(3000)], NOW)) is Code.NONE

    _, named = poll(broker, 0, -1, {0: 0}, quota := counted(broker))

    assert 6000 < named[0][1] <= 10_000
    assert quota.throttle_ms() == 0


def test_replicas_and_markers_of_brokers_are_not_counted(broker):
    """QUO-03."""
    broker.quota_control.alter([(frozenset({("client-id", None)}), {TIME: 1e-9})])
    quota = counted(broker)
    request = Request(
        replica_id=1, max_wait=dt.timedelta(0), min_bytes=1, isolation_level=0, topics=[], forgotten_topics_data=[]
    )
    broker.serve(fetch.handle, request, Context(4, quota=quota))

    assert quota.throttle_ms() == 0


def test_without_quotas_nothing_is_counted():
    """QUO-05: a broker without quotas works as before."""
    broker = started(t=1)

    assert not broker.client_quotas.enabled
    broker.quota_control.alter([(frozenset({("user", "u")}), {FETCH: 1.0})])
    assert broker.client_quotas.enabled
    broker.quota_control.alter([(frozenset({("user", "u")}), {FETCH: None})])
    assert not broker.client_quotas.enabled
