"""Which quota counts for a client, and how long it has to wait beyond it."""

from __future__ import annotations

import pytest

from eosfw_memory.server.quotas.client_quota_entity import Client, limit_of
from eosfw_memory.server.quotas.client_quota_manager import UNUSED_MS, ClientQuotaManager, QuotaType
from eosfw_memory.server.quotas.rate import Windows
from eosfw_memory.server.quotas.request_quota import RequestQuota

KEY = "producer_byte_rate"
ALICE = Client("alice", "app")


def entity(**names):
    return frozenset((kind.replace("_", "-"), name) for kind, name in names.items())


LEVELS = [
    (entity(user="alice", client_id="app"), ("alice", "app")),
    (entity(user="alice", client_id=None), ("alice", "app")),
    (entity(user="alice"), ("alice", "")),
    (entity(user=None, client_id="app"), ("alice", "app")),
    (entity(user=None, client_id=None), ("alice", "app")),
    (entity(user=None), ("alice", "")),
    (entity(client_id="app"), ("", "app")),
    (entity(client_id=None), ("", "app")),
]
"""Whom a quota may be for, in Kafka's order, with those who share it."""


@pytest.mark.parametrize("level", range(8))
def test_the_most_specific_of_eight_quotas_counts(level):
    """QUO-02."""
    quotas = {each: {KEY: number} for number, (each, _) in enumerate(LEVELS) if number >= level}
    others = {entity(user="bob"): {KEY: 99}, entity(client_id="other"): {KEY: 99}, LEVELS[0][0]: {"other_key": 99}}

    assert limit_of(others | quotas, KEY, ALICE) == (level, LEVELS[level][1])
    assert limit_of(others, KEY, ALICE) is None


def test_a_client_without_an_id_has_the_quota_of_its_user():
    """QUO-02."""
    quotas = {each: {KEY: number} for number, (each, _) in enumerate(LEVELS)}

    assert limit_of(quotas, KEY, Client("alice", "")) == (2, ("alice", ""))
    assert limit_of(quotas, KEY, Client("bob", "")) == (5, ("bob", ""))
    assert limit_of({LEVELS[7][0]: {KEY: 7}}, KEY, Client("bob", "")) is None


class Clock:
    """Milliseconds for rates, seconds for the time of requests."""

    def __init__(self) -> None:
        self.ms = 1_000_000
        self.seconds = 0.0


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def manager(clock):
    """With Kafka's defaults: eleven windows of a second."""
    return ClientQuotaManager(Windows(11, 1000), lambda: clock.ms, lambda: clock.seconds)


def test_a_client_waits_until_its_rate_over_the_windows_is_its_quota_again(manager, clock):
    """QUO-03: with what Kafka's documentation of quotas gives as its formula."""
    manager.update({entity(client_id="app"): {KEY: 500}})
    used = []
    for _ in range(10):
        used.append(manager.record(QuotaType.PRODUCE, ALICE, 400))
        clock.ms += 1000
    clock.ms += 500

    assert used == [0] * 10
    # 4000 before and 2300 now, over 10.5 s: 600 a second, a fifth too much.
    assert manager.record(QuotaType.PRODUCE, ALICE, 2300) == 2100
    clock.ms += 11_000
    assert manager.record(QuotaType.PRODUCE, ALICE, 5000) == 0


def test_clients_share_a_quota_or_have_one_each(manager):
    """QUO-02: that of a user is one for all of its clients, that of any client id one for each."""
    manager.update({entity(user="alice"): {KEY: 100}, entity(client_id=None): {KEY: 100}})

    assert manager.record(QuotaType.PRODUCE, ALICE, 1000) == 0
    assert manager.record(QuotaType.PRODUCE, Client("alice", "other"), 1000) == 10_000
    assert manager.record(QuotaType.PRODUCE, Client("bob", "app"), 1000) == 0
    assert manager.record(QuotaType.PRODUCE, Client("carol", "app"), 1000) == 10_000
    assert manager.record(QuotaType.PRODUCE, Client("bob", "other"), 1000) == 0
    assert manager.record(QuotaType.FETCH, ALICE, 10**9) == 0


def test_another_quota_counts_from_the_next_request_on(manager):
    """QUO-01: what was used before counts, too."""
    manager.update({entity(user="alice"): {KEY: 1000}})
    assert manager.record(QuotaType.PRODUCE, ALICE, 2000) == 0

    manager.update({entity(user="alice"): {KEY: 100}})
    assert manager.record(QuotaType.PRODUCE, ALICE, 0) == 10_000
    manager.update({})

    assert manager.record(QuotaType.PRODUCE, ALICE, 10**9) == 0
    assert not manager.enabled


def test_time_is_counted_without_waiting_and_the_wait_for_it_has_an_end(manager, clock):
    """QUO-03: request_percentage; in Kafka, too, one window is the longest wait."""
    manager.update({entity(user="alice"): {"request_percentage": 1}})
    short, long = (RequestQuota(manager, ALICE, clock.seconds) for _ in range(2))
    clock.seconds += 0.05
    short.stop_clock()
    clock.seconds += 60

    # 5 % in the first of ten seconds are 0.5 % a second.
    assert (short.throttle_ms(), short.throttle_ms()) == (0, 0)
    assert long.throttle_ms() == 1000


def test_requests_between_brokers_cost_nothing(manager, clock):
    """QUO-03."""
    manager.update({entity(user="alice"): {"request_percentage": 1}})
    request = RequestQuota(manager, ALICE, clock.seconds)
    clock.seconds += 60

    request.exempt()

    assert request.throttle_ms() == 0
    assert RequestQuota(manager, ALICE, clock.seconds).throttle_ms() == 0


def test_a_clock_that_moves_back_and_clients_that_are_gone_leave_nothing_behind(manager, clock):
    """QUO-03: no client waits for a time that comes again, none stays in memory."""
    manager.update({entity(user="alice"): {KEY: 100}})
    assert manager.record(QuotaType.PRODUCE, ALICE, 2000) == 10_000

    clock.ms -= 10**6
    manager.on_clock_moved_back()
    assert manager.record(QuotaType.PRODUCE, ALICE, 1000) == 0
    clock.ms += UNUSED_MS
    manager.forget_unused(clock.ms)

    assert manager._rates == {}
