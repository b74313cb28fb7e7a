"""A topic that was just created, until each of its partitions has a leader."""

from __future__ import annotations

from contextlib import closing

import pytest

from eosfw.concurrency import ThreadRuntime
from eosfw.errors import ClusterUnavailableError
from eosfw.protocols import NewTopic
from eosfw_confluent import admin
from eosfw_confluent.backend import ConfluentBackend
from eosfw_memory.cluster import EmbeddedCluster


def test_a_broker_that_cannot_describe_a_new_topic_yet_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """TPC-05: what passes ends no creation; the question is only whether the topic may be described."""
    looks: list[str] = []

    def without_leader(*_: object) -> list[str]:
        looks.append("look")
        return ["t"] if len(looks) == 1 else []

    def describe(*_: object) -> None:
        looks.append("describe")
        raise ClusterUnavailableError("LEADER_NOT_AVAILABLE")

    monkeypatch.setattr(admin, "_without_leader", without_leader)
    monkeypatch.setattr(admin.ConfluentAdmin, "_topic_ids", describe)
    runtime = ThreadRuntime()
    with closing(EmbeddedCluster.start({}, runtime)) as cluster:
        backend = ConfluentBackend.connect({"bootstrap.servers": cluster.bootstrap_servers}, runtime)
        with closing(backend):
            backend.admin().create_topics([NewTopic("t", 1)])

    assert looks == ["look", "describe", "look"]
