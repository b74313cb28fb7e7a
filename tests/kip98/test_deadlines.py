"""No call outlives its deadline."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator

import pytest

from eosfw.errors import ClusterUnavailableError, FatalError, IndefiniteOutcomeError
from eosfw.ids import TopicPartition
from eosfw.protocols import IsolationLevel, NewTopic
from eosfw.records import OffsetRange
from eosfw.waiting import Runtime
from eosfw_confluent.backend import ConfluentBackend
from kip98.lab import WAIT, record

BOUND = 0.5
SLACK = 2.0
ONE = TopicPartition("topic", 0)


@pytest.fixture(params=["nobody listens", "nobody answers"])
def address(request: pytest.FixtureRequest) -> Iterator[str]:
    """An address where no broker is: its port is closed, or accepts and stays silent."""
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        if request.param == "nobody answers":
            silent.listen(16)
        yield f"127.0.0.1:{silent.getsockname()[1]}"


@pytest.fixture
def backend(address: str, runtime: Runtime) -> Iterator[ConfluentBackend]:
    properties = {"bootstrap.servers": address, "default.api.timeout.ms": str(round(BOUND * 1000))}
    backend = ConfluentBackend.connect(properties, runtime)
    yield backend
    backend.close()


def flushed(backend: ConfluentBackend) -> None:
    producer = backend.producer(None)
    producer.send(record(ONE.topic, b"v"))
    producer.flush(BOUND)


def read(backend: ConfluentBackend) -> None:
    list(backend.reader(IsolationLevel.READ_COMMITTED).read({ONE: OffsetRange(0, 1)}, BOUND))


CALLS: dict[str, Callable[[ConfluentBackend], object]] = {
    "init_transactions": lambda backend: backend.producer("id").init_transactions(BOUND),
    "flush": flushed,
    "read": read,
    "partitions": lambda backend: backend.admin().partitions(),
    "create_topics": lambda backend: backend.admin().create_topics([NewTopic("topic")]),
    "topic_config": lambda backend: backend.admin().topic_config("topic"),
    "end_offsets": lambda backend: backend.admin().end_offsets([ONE], IsolationLevel.READ_COMMITTED),
    "log_start_offsets": lambda backend: backend.admin().log_start_offsets([ONE]),
    "max_transaction_timeout": lambda backend: backend.admin().max_transaction_timeout(),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_cluster_that_cannot_be_reached_is_named_within_the_deadline(
    backend: ConfluentBackend, address: str, runtime: Runtime, call: str
) -> None:
    """Ruling on waits: every blocking call has a deadline, the text names the address."""
    began = runtime.now()

    with pytest.raises(ClusterUnavailableError, match=address):
        CALLS[call](backend)

    assert runtime.now() - began < BOUND + SLACK


def test_an_initialisation_that_was_not_answered_may_be_tried_again(backend: ConfluentBackend) -> None:
    """PRD-01: nothing happened, so the same call is legal."""
    producer = backend.producer("id")
    for _ in range(2):
        with pytest.raises(ClusterUnavailableError):
            producer.init_transactions(BOUND / 4)


def test_closing_a_producer_frees_whoever_waits_inside(backend: ConfluentBackend, runtime: Runtime) -> None:
    """Common rules: close may be called from any thread."""
    producer = backend.producer("id")
    caught, started = runtime.queue(), runtime.event()  # type: ignore[var-annotated]

    def wait() -> None:
        started.set()
        try:
            producer.init_transactions(WAIT)
        except FatalError as why:
            caught.put(why)

    waiting = runtime.spawn("waiting", wait)
    started.wait(WAIT)
    producer.close()

    assert waiting.join(5.0)
    assert isinstance(caught.get(timeout=0), FatalError)


def test_indefinite_is_told_from_unavailable() -> None:
    """Design: only an unknown outcome costs the producer."""
    assert issubclass(IndefiniteOutcomeError, FatalError)
    assert not issubclass(ClusterUnavailableError, FatalError)
