from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from .worker_processes import Counts, WorkerGroup


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Processes take their time; groups in one process, in virtual time, are in tests/herder."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.kafka)
            item.add_marker(pytest.mark.ci)


@pytest.fixture
def topic(real_kafka) -> str:
    """A topic with one partition, so that the order of all records is known."""
    name = f"groups-{uuid.uuid4().hex[:8]}"
    admin = AdminClient({"bootstrap.servers": real_kafka})
    admin.create_topics([NewTopic(name, 1, 1)])[name].result(30)
    return name


@pytest.fixture
def start_group(real_kafka, topic, tmp_path) -> Iterator[Callable[..., WorkerGroup]]:
    """Starts a group of so many worker processes."""
    groups: list[WorkerGroup] = []

    def start(workers: int = 3, backend: str = "confluent", **changed: str) -> WorkerGroup:
        groups.append(WorkerGroup(tmp_path, real_kafka, f"g-{topic}", backend, **changed))
        groups[-1].add(workers)
        return groups[-1]

    yield start
    for group in groups:
        group.close()


@pytest.fixture
def counts(real_kafka, topic) -> Iterator[Counts]:
    """What is committed to the topic; at the end of each test it must lack and repeat nothing."""
    counts = Counts(real_kafka, topic)
    yield counts
    counts.close()


@pytest.fixture
def grows(counts) -> Callable[..., None]:
    """Waits until so many more records are committed, and checks that each is there once."""

    def wait(group: WorkerGroup, more: int = 200) -> None:
        wanted = counts.read() + more
        group.until(lambda: counts.read() >= wanted, f"{more} more records")
        counts.assert_each_once()

    return wait
