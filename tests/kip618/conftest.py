"""Run each test of KIP-618 over every backend, and over one on a real Kafka; over all of them there each night.

What the framework alone decides, whatever client carries it out, is asked of one foreign library, on a real Kafka.
"""

from __future__ import annotations

import pytest

from .group import Served

NIGHTLY = [pytest.mark.kafka, pytest.mark.nightly]
WAYS = [
    pytest.param("memory", "embedded", id="memory"),
    pytest.param("confluent", "embedded", id="confluent"),
    pytest.param("kafka-python", "embedded", id="kafka-python"),
    pytest.param("confluent", "real_kafka", id="confluent-kafka", marks=pytest.mark.kafka),
    pytest.param("memory", "real_kafka", id="memory-kafka", marks=NIGHTLY),
    pytest.param("kafka-python", "real_kafka", id="kafka-python-kafka", marks=NIGHTLY),
]

DECIDED_HERE = {
    f"{__package__}.test_{subject}"
    for subject in (
        "bad_sources", "boundaries", "changed_offsets", "contrast", "dropped_records", "internal_topics", "offsets",
        "other_cluster", "own_offsets_topic", "pausing", "shared_ids", "topic_creation",
    )
}  # fmt: skip
"""Modules about which topic, which offset, which boundary; the contract of backends shows that clients are alike."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Each way for a test with a cluster, but those whose client cannot do what the test is marked with."""
    if "cluster" in metafunc.fixturenames:
        marked = {mark.name for mark in metafunc.definition.iter_markers()}
        ways = [way for way in WAYS if not ("describes_transactions" in marked and way.values[0] == "confluent")]
        # Over a socket the client of `memory` sends few records at the commit only.
        ways = [way for way in ways if not ("sends_before_the_commit" in marked and way.id == "memory-kafka")]
        if metafunc.module.__name__ in DECIDED_HERE:
            ways = [way for way in ways if way.id not in ("confluent", "kafka-python")]
        metafunc.parametrize(("backend", "where"), ways, indirect=True)


@pytest.fixture
def backend(request: pytest.FixtureRequest) -> str:
    """The name of the client."""
    return request.param  # type: ignore[no-any-return]


@pytest.fixture
def where(request: pytest.FixtureRequest) -> str:
    """The address of the cluster."""
    return request.getfixturevalue(request.param)  # type: ignore[no-any-return]


@pytest.fixture
def cluster(backend: str, where: str) -> Served:
    """A cluster with the client to use there."""
    return Served(where, backend)
