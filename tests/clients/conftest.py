"""Fixtures for the programs of Apache Kafka's distribution."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest

from .java import Java, Output


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All of these need Kafka's jars and take long; except where Spark has its own."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents and item.get_closest_marker("spark") is None:
            item.add_marker(pytest.mark.kafka)
            item.add_marker(pytest.mark.ci)


@pytest.fixture(scope="session")
def java(tmp_path_factory: pytest.TempPathFactory) -> Java:
    """Kafka's own programs."""
    return Java(tmp_path_factory.mktemp("java"))


@pytest.fixture
def tool(java: Java, embedded: str) -> Callable[..., Output]:
    """Runs one of Kafka's command-line tools against the embedded broker, and fails when the tool does."""

    def run(name: str, *arguments: object, **how: object) -> Output:
        output = java.run(name, "--bootstrap-server", embedded, *arguments, **how)
        assert output.status == 0, f"{name} ended with {output.status}:\n{output.out}{output.err}"
        return output

    return run


@pytest.fixture(scope="session")
def fresh() -> Callable[[str], str]:
    """Names that no other test uses."""
    numbers, run = itertools.count(), uuid.uuid4().hex[:8]
    return lambda stem: f"clients-{stem}-{run}-{next(numbers)}"


@pytest.fixture
def topic(embedded: str, fresh: Callable[[str], str]) -> Callable[..., str]:
    """Creates topics on the embedded broker."""
    from confluent_kafka.admin import AdminClient, NewTopic

    admin = AdminClient({"bootstrap.servers": embedded})

    def create(partitions: int = 1, **config: str) -> str:
        name = fresh("topic")
        admin.create_topics([NewTopic(name, partitions, 1, config=config)])[name].result(30)
        return name

    return create
