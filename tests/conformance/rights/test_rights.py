"""Whoever lacks a right gets from the embedded broker what a real Kafka answers, and is told no more."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest

from authorized_kafka import embedded_properties
from eosfw.concurrency import ThreadRuntime
from eosfw_memory.cluster import EmbeddedCluster
from eosfw_memory.server.broker.broker import Broker
from eosfw_memory.server.protocol import rights
from eosfw_memory.server.protocol.rights import RIGHTS
from eosfw_memory.server.protocol.routes import ROUTES, api_name
from eosfw_memory.server.security.acl.right import Right
from real_kafka import KAFKA_VERSION

from .cells import answers, cells, nested
from .record import GOLDEN

NAMED = frozenset(each for each in vars(rights).values() if isinstance(each, Right))
DIFFERENT = {
    # There are no other brokers, so nobody asks whether broker 5 has a replica.
    "Fetch 12, of a replica | all rights": ("NONE NOT_LEADER_OR_FOLLOWER", "NONE NONE"),
    # The broker's own properties are set at its start.
    "AlterConfigs 2, broker | all rights": ("NONE", "INVALID_REQUEST"),
    "IncrementalAlterConfigs 1, broker | all rights": ("NONE", "INVALID_REQUEST"),
}
"""What differs from Kafka for whoever has all rights, with Kafka's answer first."""
ASKED_ELSEWHERE = {
    # This Kafka creates no topic by itself: tests/broker/security/acl/test_requests.py asks.
    "Metadata": {rights.CLUSTER_CREATE, rights.TOPIC_CREATE},
}


class AskedRights:
    """The rights that each handler has asked for."""

    def __init__(self, broker: Broker) -> None:
        self.by_request: defaultdict[str, set[Right]] = defaultdict(set)
        self._request = ""
        assert broker.authorizer is not None
        self._authorizer = broker.authorizer
        broker.interceptor = self._intercept
        broker.authorizer = self  # type: ignore[assignment]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._authorizer, name)

    def authorize(self, principal: str, host: str, right: Right, name: str) -> bool:
        self.by_request[self._request].add(right)
        return self._authorizer.authorize(principal, host, right, name)

    def authorize_by_resource_type(self, principal: str, host: str, right: Right) -> bool:
        self.by_request[self._request].add(right)
        return self._authorizer.authorize_by_resource_type(principal, host, right)

    def _intercept(self, handler: Any) -> Any:
        self._request = api_name(handler.__module__)
        return handler


@pytest.fixture(scope="module")
def embedded() -> Iterator[tuple[dict[str, dict[str, str]], AskedRights]]:
    """What the embedded broker answers to every cell, and the rights it asked for."""
    cluster = EmbeddedCluster.start(embedded_properties(), ThreadRuntime())
    asked = AskedRights(cluster.broker)
    try:
        yield nested(dict(answers(cluster.bootstrap_servers))), asked
    finally:
        cluster.close()


def differences(found: dict[str, dict[str, str]]) -> dict[str, tuple[str | None, str]]:
    table = json.loads(GOLDEN.read_text())
    assert (table["kafka"], table["count"]) == (KAFKA_VERSION, len(list(cells())))
    return {
        f"{request} | {case}": (table["cells"].get(request, {}).get(case), answer)
        for request, cases in found.items()
        for case, answer in cases.items()
        if table["cells"].get(request, {}).get(case) != answer
    }


def test_each_missing_right_is_answered_as_by_kafka(embedded):
    """ACL-12: every request with all of its rights, without a single one, with none."""
    assert differences(embedded[0]) == DIFFERENT


def test_a_principal_without_rights_learns_nothing_about_topics(embedded):
    """ACL-13: a topic that exists and one that does not get the same answer."""
    told = {
        request: (cases["no such topic, without any"], without)
        for request, cases in embedded[0].items()
        if "no such topic, without any" in cases
        for case, without in cases.items()
        if case == "without any" or (case.startswith("without") and "without any" not in cases)
    }

    assert len(told) >= 20
    assert {request: pair for request, pair in told.items() if pair[0] != pair[1]} == {}


def test_every_request_asks_for_the_rights_of_the_table(embedded):
    """ACL-12: whoever reads the table reads what is checked."""
    asked = {name: embedded[1].by_request[name] & NAMED for name in RIGHTS}

    assert list(RIGHTS) == [api_name(route.module) for route in ROUTES.values()]
    assert asked == {name: set(needed) - ASKED_ELSEWHERE.get(name, set()) for name, needed in RIGHTS.items()}


@pytest.mark.kafka
def test_a_real_kafka_still_gives_the_recorded_answers(secured):
    """ACL-12."""
    assert differences(nested(dict(answers(secured.bootstrap_servers)))) == {}
