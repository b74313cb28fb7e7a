"""Offer producers of the library alone and of the backend."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator

import pytest

from eosfw.concurrency import ThreadRuntime
from eosfw.protocols import NewTopic
from eosfw_kafka_python.backend import KafkaPythonBackend, load_library

load_library()  # which warns, once, wherever warnings are errors

from kafka import KafkaProducer  # noqa: E402

from eosfw_kafka_python.producer import KafkaPythonProducer  # noqa: E402

WAIT = 20.0
LINGERING = {"linger.ms": "30000"}
"""Longer than any test takes: what was sent waits for a flush, so that a test acts before the sender."""


@pytest.fixture
def backend(embedded: str) -> Iterator[KafkaPythonBackend]:
    """A client of the embedded broker."""
    backend = KafkaPythonBackend.connect({"bootstrap.servers": embedded}, ThreadRuntime())
    yield backend
    backend.close()


@pytest.fixture
def topic(backend: KafkaPythonBackend) -> str:
    """A topic of two partitions."""
    name = f"t{uuid.uuid4().hex[:8]}"
    backend.admin().create_topics([NewTopic(name, 2)])
    return name


@pytest.fixture
def bare(embedded: str) -> Iterator[Callable[..., KafkaProducer]]:
    """Make producers of the library alone, initialised."""
    made = []

    def make(**arguments: object) -> KafkaProducer:
        made.append(KafkaProducer(bootstrap_servers=embedded, transactional_id=uuid.uuid4().hex, **arguments))
        made[-1].init_transactions()
        return made[-1]

    yield make
    for each in made:
        each._sender.force_close()
        each._unregister_cleanup()
        each._closed = True


@pytest.fixture
def producer(backend: KafkaPythonBackend) -> KafkaPythonProducer:
    """An initialised eosfw producer whose records linger, so that a test acts before the sender."""
    producer = backend.producer(uuid.uuid4().hex, properties=LINGERING)
    producer.init_transactions(WAIT)
    return producer
