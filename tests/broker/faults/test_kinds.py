"""Each kind of fault has its effect once, on its target, over both transports."""

from __future__ import annotations

from contextlib import nullcontext

import pytest
from kio.index import load_request_schema

from broker.protocol.test_every_version import filled
from eosfw.errors import ConfigError, IndefiniteOutcomeError, ProducerFencedError
from eosfw_memory.client.transport.apis import METADATA, Fields
from eosfw_memory.client.transport.channel import NoAnswerError
from eosfw_memory.common.codes import Code
from eosfw_memory.faults import Delay, Drop, Fail, Lose, Refuse, Repeat, Restart
from eosfw_memory.faults.error_responses import error_response
from eosfw_memory.faults.interceptors import Seams
from eosfw_memory.faults.points import requests
from eosfw_memory.server.coordinators.groups.offsets_topic import OffsetsTopic
from eosfw_memory.server.coordinators.transaction_log import TransactionStateTopic
from eosfw_memory.server.protocol.codec import codec
from eosfw_memory.server.protocol.routes import ROUTES
from pytest_eos.contracts.backends.harness import COMMITTED, UNCOMMITTED, WAIT, commit

from .giving_up import give_up
from .test_repeats import codes

ALL_TOPICS = Fields(topics=None, allow_auto_topic_creation=False, include_topic_authorized_operations=False)


@pytest.fixture(params=["direct", "socket"])
def transport(request):
    return request.param


def ask(lab, seconds=WAIT):
    """Send one request without retries."""
    deadline = lab.runtime.now() + seconds
    channel = network(lab).any(deadline)
    return channel.call(METADATA, ALL_TOPICS, deadline)


def network(lab):
    return lab.admin._metadata.network


CASES = {
    "a dropped request has no effect, and its sender tries again": (Drop("Produce"), None, [b"v"]),
    "a lost answer leaves the effect, which the client cannot know": (Lose("EndTxn"), IndefiniteOutcomeError, [b"v"]),
    "a failed request has no effect": (Fail("EndTxn", code="INVALID_PRODUCER_EPOCH"), ProducerFencedError, []),
    "a delay of some seconds ends by itself": (Delay("EndTxn", seconds=0.01), None, [b"v"]),
    "a broker that restarts completes from its log what was decided": (
        Restart("after-prepare"),
        IndefiniteOutcomeError,
        [b"v"],
    ),
}


@pytest.mark.parametrize(("rule", "error", "seen"), CASES.values(), ids=CASES)
def test_a_fault_has_its_effect_on_a_transaction_once(lab, faults, rule, error, seen):
    topic, producer = lab.topic(), lab.producer()
    fault = faults.add(rule)

    with nullcontext() if error is None else pytest.raises(error):
        commit(producer, topic, b"v")

    assert len(fault.firings) == 1
    assert (lab.visible(topic) if error is ProducerFencedError else lab.values(topic)) == seen
    assert len(lab.rows(topic, UNCOMMITTED)) == 1


@pytest.mark.parametrize("kind", [Drop, Lose])
def test_a_silent_broker_keeps_connections_open_until_the_client_times_out(lab, faults, kind):
    """A slow broker shows itself to a client as silence, not as a closed connection."""
    ask(lab)  # so that it is connected
    silent = faults.add(kind("Metadata", silent=True))

    with pytest.raises(NoAnswerError):
        ask(lab, 0.5)

    assert silent.fired
    assert ask(lab)["topics"] == []


def test_a_repeated_request_is_served_each_time_and_answered_once(lab, faults):
    """A network may deliver a request again, while the client reads one answer only."""
    topic, producer = lab.topic(), lab.producer()
    repeated = faults.add(Repeat("Produce", copies=5))

    commit(producer, topic, b"v")

    assert len(repeated.answers) == 5
    assert lab.rows(topic, UNCOMMITTED) == [(0, 0, None, b"v")]


def test_a_delayed_request_takes_effect_when_released_without_a_waiting_client(lab, faults):
    """What arrives late is carried out all the same, and tests of fencing need such requests."""
    topic = lab.topic()
    producer = lab.open_transaction(topic, b"v")
    delayed = faults.add(Delay("EndTxn"))

    give_up(lab, producer, delayed, lambda: producer.commit_transaction(WAIT))
    assert lab.end(topic, COMMITTED) == 0
    delayed.release()

    assert lab.values(topic) == [b"v"]


def test_a_long_poll_that_arrives_late_still_waits_for_what_it_asks(lab, faults):
    """An answer that is put off twice comes once."""
    topic = lab.topic()
    held = faults.add(Delay("Fetch"))
    seen = []
    reading = lab.runtime.spawn("reader", lambda: seen.extend(lab.values(topic)))
    assert reading.join(WAIT)  # nothing there, so nothing asked
    lab.write(topic, b"v")
    reading = lab.runtime.spawn("reader", lambda: seen.extend(lab.values(topic)))
    held.await_fired(WAIT)

    held.release()

    assert reading.join(WAIT)
    assert seen == [b"v"]


def test_a_refused_write_is_answered_like_a_full_disk_and_changes_nothing(lab, cluster, faults):
    """An epoch is not lost with a write that failed."""
    lab.producer("refused")
    refused = faults.add(Refuse("before-empty", code="NOT_ENOUGH_REPLICAS", times=3))

    lab.producer("refused")

    assert len(refused.firings) == 3
    assert cluster.broker.coordinator.describe("refused").epoch == 1


def test_connections_fail_while_the_broker_is_down_and_succeed_afterwards(lab, faults):
    topic = lab.topic()
    faults.add(Restart("before-Metadata", down=0.05))

    assert topic in lab.admin.partitions()


def test_a_fault_triggers_for_its_target_at_the_nth_request(lab, faults):
    topic, other = lab.topic(), lab.topic()
    victim, neighbour = lab.producer("victim"), lab.producer("neighbour")
    lost = faults.add(Lose("EndTxn", transactional_id="victim", nth=2))
    unfired = faults.add(Drop("Produce", topic="never-written"))

    for _ in range(2):
        commit(neighbour, other, b"n")
    commit(victim, topic, b"1")
    with pytest.raises(IndefiniteOutcomeError):
        commit(victim, topic, b"2")

    assert lost.firings[0].occurrence.transactional_ids == ("victim",)
    assert not unfired.fired
    assert faults.unfired() == [unfired]


def test_every_fault_reports_its_firings_with_time_and_target(lab, faults):
    faults.add("lose", request="EndTxn", transactional_id="orders-0", nth=2)
    faults.add(Repeat("Metadata"))
    ask(lab)

    never, fired = faults.report()

    assert never == "fault lose EndTxn, 2nd, transactional_id=orders-0: never fired: nothing of the kind came by"
    assert fired.startswith("fault repeat Metadata, 1st: fired at ")


def test_a_removed_fault_stops_triggering_and_releases_held_requests(lab, cluster, faults):
    topic = lab.topic()
    held = faults.add(Delay("Produce"))
    writing = lab.runtime.spawn("writer", lambda: lab.write(topic, b"v"))
    held.await_fired(WAIT)

    faults.remove(held)

    assert writing.join(WAIT)
    assert cluster.broker.interceptor is None
    assert lab.values(topic) == [b"v"]


@pytest.mark.parametrize(
    ("what", "fields", "message"),
    [
        ("loose", {}, "no fault 'loose'; did you mean 'lose'"),
        ("lose", {"request": "EndTx"}, "no request 'EndTx'; did you mean 'EndTxn'"),
        ("lose", {"request": "end_txn"}, "did you mean 'EndTxn'"),
        ("lose", {"request": "EndTxn", "nht": 2}, "'nht'; did you mean 'nth'"),
        ("lose", {"request": "EndTxn", "nth": 0}, "nth: 0 is less than 1"),
        ("lose", {"request": "EndTxn", "nth": "2"}, "nth: '2' is not a whole number"),
        ("lose", {"request": "EndTxn", "nth": True}, "nth: True is not a whole number"),
        ("lose", {}, "request: lose does not say which"),
        ("fail", {"request": "EndTxn", "code": "NOT_CORDINATOR"}, "did you mean 'NOT_COORDINATOR'"),
        ("restart", {"at": "after-markr"}, "did you mean 'after-marker'"),
        ("refuse", {"at": "after-prepare"}, "no write to refuse 'after-prepare'; did you mean 'before-prepare'"),
        ("refuse", {"at": "before-EndTxn"}, "no write to refuse 'before-EndTxn'"),
        ("restart", {"at": "after-marker", "down": -1}, "down: -1 is less than 0"),
        ("restart", {"at": "after-marker", "down": 1e15}, "down: 1e+15 is more than 315360000 seconds"),
        ("jump", {"at": "after-marker", "seconds": -(10**15)}, "seconds: -1e+15 is more than 315360000 seconds"),
        ("kill", {"at": "after-marker"}, "no process of its own"),
    ],
)
def test_an_invalid_fault_is_refused_with_the_nearest_name(cluster, faults, what, fields, message):
    """A fault that is silently ignored would let a test pass that tested nothing."""
    with pytest.raises(ConfigError) as refused:
        faults.add(what, **fields)

    assert message in str(refused.value)
    assert cluster.broker.interceptor is None


def test_a_broker_without_faults_has_no_interceptors(cluster, faults):
    """Zero cost when there is none."""
    empty = Seams.of(cluster.broker)
    assert empty.interceptor is None
    assert type(empty.transaction_log) is TransactionStateTopic
    assert type(empty.group_log) is OffsetsTopic

    fault = faults.add(Lose("EndTxn"))
    assert Seams.of(cluster.broker) != empty

    faults.remove(fault)
    assert Seams.of(cluster.broker) == empty


def test_names_of_requests_are_those_of_the_protocol():
    for name, key in requests().items():
        assert load_request_schema(key, ROUTES[key].max_version).__name__ == f"{name}Request"


@pytest.mark.parametrize("name", requests())
def test_every_request_is_refused_in_each_of_its_versions(name):
    """An answer that a version cannot carry would close the connection instead of refusing the request."""
    key = requests()[name]
    for version in range(ROUTES[key].min_version, ROUTES[key].max_version + 1):
        request = filled(load_request_schema(key, version), elements=1)

        answer = error_response(key, version, request, Code.GROUP_AUTHORIZATION_FAILED)

        codec(key, version).write_body(answer, [])
        assert Code.GROUP_AUTHORIZATION_FAILED in codes(answer)
