"""No call outlives its deadline, whoever listens at the other end."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator

import pytest

from eosfw.errors import ClusterUnavailableError, EosfwError, FatalError, IllegalStateError, IndefiniteOutcomeError
from eosfw.ids import TopicPartition
from eosfw.protocols import IsolationLevel, NewTopic
from eosfw.records import OffsetRange
from eosfw.waiting import Runtime, ThreadRuntime
from eosfw_memory.client.backend import MemoryBackend
from eosfw_memory.client.fencer import MemoryFencer
from eosfw_memory.cluster import EmbeddedCluster
from kip98.lab import COMMITTED, UNCOMMITTED, WAIT, Lab, record

BOUND = 0.4
SLACK = 2.0
ONE = TopicPartition("topic", 0)
RUNTIME = ThreadRuntime()


def connect(address: str, runtime: Runtime = RUNTIME, **more: str) -> MemoryBackend:
    properties = {"bootstrap.servers": address, "default.api.timeout.ms": str(round(BOUND * 1000))}
    return MemoryBackend.connect({**properties, **more}, runtime)


@pytest.fixture(params=["nobody listens", "nobody answers"])
def address(request: pytest.FixtureRequest) -> Iterator[str]:
    """An address where no broker is: its port is closed, or accepts and stays silent."""
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        if request.param == "nobody answers":
            silent.listen(16)
        yield f"127.0.0.1:{silent.getsockname()[1]}"


class Babbler:
    """A server that answers whatever it is asked with the same bytes."""

    def __init__(self, said: bytes) -> None:
        self._said = said
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listening.getsockname()[1]}"
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                accepted, _ = self._listening.accept()
            except OSError:
                return
            with accepted:
                accepted.settimeout(1.0)
                try:
                    accepted.recv(1 << 16)
                    accepted.sendall(self._said)
                except OSError:
                    continue

    def close(self) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._thread.join()


GARBAGE = {
    "another protocol": b"HTTP/1.1 400 Bad Request\r\n\r\n",
    "a frame of nothing": bytes(4),
    "a negative frame": b"\xff\xff\xff\xff",
    "an empty answer": b"\x00\x00\x00\x04\x00\x00\x00\x01",
    "a list longer than its bytes": b"\x00\x00\x00\x0a\x00\x00\x00\x01\x00\x00\x7f\xff\xff\xff",
    "an answer to another request": b"\x00\x00\x00\x0a\x00\x00\x00\x63\x00\x00\x00\x00\x00\x00",
    "half a frame": b"\x00\x00\x00\x40\x00\x00",
    "no common version": b"\x00\x00\x00\x0a\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00",
}


@pytest.fixture(params=GARBAGE)
def babbler(request: pytest.FixtureRequest) -> Iterator[Babbler]:
    """A port that answers, though not as Kafka does."""
    babbler = Babbler(GARBAGE[request.param])
    yield babbler
    babbler.close()


def flushed(backend: MemoryBackend) -> None:
    producer = backend.producer(None)
    producer.send(record(ONE.topic, b"v"))
    producer.flush(BOUND)


def read(backend: MemoryBackend) -> None:
    list(backend.reader(COMMITTED).read({ONE: OffsetRange(0, 1)}, BOUND))


def fenced(backend: MemoryBackend) -> None:
    (outcome,) = MemoryFencer.connect(backend, {}, RUNTIME).fence(["id"], BOUND).values()
    if outcome is not None:
        raise outcome


CALLS: dict[str, Callable[[MemoryBackend], object]] = {
    "init_transactions": lambda backend: backend.producer("id").init_transactions(BOUND),
    "flush": flushed,
    "read": read,
    "fence": fenced,
    "partitions": lambda backend: backend.admin().partitions(),
    "create_topics": lambda backend: backend.admin().create_topics([NewTopic("topic")]),
    "topic_config": lambda backend: backend.admin().topic_config("topic"),
    "end_offsets": lambda backend: backend.admin().end_offsets([ONE], IsolationLevel.READ_COMMITTED),
    "log_start_offsets": lambda backend: backend.admin().log_start_offsets([ONE]),
    "open_transactions": lambda backend: backend.admin().open_transactions([ONE]),
    "max_transaction_timeout": lambda backend: backend.admin().max_transaction_timeout(),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_cluster_that_cannot_be_reached_is_named_within_the_deadline(address: str, call: str) -> None:
    """Ruling on waits: every blocking call has a deadline, the text names the address."""
    began = RUNTIME.now()

    with pytest.raises(ClusterUnavailableError, match=address):
        CALLS[call](connect(address))

    assert RUNTIME.now() - began < BOUND + SLACK


@pytest.mark.parametrize("call", CALLS)
def test_nonsense_in_place_of_an_answer_is_an_error_of_ours_within_the_deadline(babbler: Babbler, call: str) -> None:
    """Hostile answers: typed, named, never a hang; nothing was sent, so nothing is indefinite."""
    began = RUNTIME.now()
    backend = connect(babbler.address, **{"request.timeout.ms": "300"})

    with pytest.raises(ClusterUnavailableError, match=babbler.address):
        CALLS[call](backend)

    assert RUNTIME.now() - began < BOUND + SLACK
    backend.close()


def test_an_initialisation_that_was_not_answered_may_be_tried_again(address: str) -> None:
    """PRD-11: nothing happened, so the producer is as before."""
    producer = connect(address).producer("id")

    for _ in range(2):
        with pytest.raises(ClusterUnavailableError):
            producer.init_transactions(BOUND / 2)


@pytest.mark.parametrize("transport", ["direct", "socket"])
def test_a_cluster_lost_within_a_transaction_leaves_an_indefinite_outcome(transport: str) -> None:
    """Design: after a commit that was not answered nobody knows, so the producer is done for."""
    cluster = EmbeddedCluster.start({}, RUNTIME)
    lab = Lab(connect(cluster.bootstrap_servers, **{"eosfw.transport": transport}), RUNTIME)
    producer = lab.open_transaction(lab.topic(), b"v")
    cluster.close()

    with pytest.raises(IndefiniteOutcomeError):
        producer.commit_transaction(BOUND)
    with pytest.raises(IndefiniteOutcomeError):
        producer.abort_transaction(BOUND)
    lab.close()


@pytest.mark.parametrize("transport", ["direct", "socket"])
def test_closing_frees_a_reader_that_waits(embedded: str, transport: str) -> None:
    """LogReader: a read under way on another thread ends by raising."""
    lab = Lab(connect(embedded, **{"eosfw.transport": transport}), RUNTIME)
    topic = lab.topic()
    reader = lab.reader(UNCOMMITTED)
    lab.write(topic, b"v")
    reading = reader.read({TopicPartition(topic, 0): OffsetRange(0, 2)}, WAIT)
    next(reading)
    ended: list[BaseException] = []

    def wait() -> None:
        try:
            next(reading)
        except EosfwError as why:
            ended.append(why)

    waiting = RUNTIME.spawn("waiting", wait)
    assert not waiting.join(0.05)
    reader.close()

    assert waiting.join(SLACK)
    assert isinstance(ended[0], IllegalStateError)
    lab.close()


def test_closing_frees_a_producer_that_waits(address: str) -> None:
    """Common rule: close may be called from any thread and unblocks whoever waits inside."""
    producer = connect(address).producer("id")
    ended: list[BaseException] = []

    def wait() -> None:
        try:
            producer.init_transactions(WAIT)
        except EosfwError as why:
            ended.append(why)

    waiting = RUNTIME.spawn("waiting", wait)
    assert not waiting.join(0.05)
    producer.close()

    assert waiting.join(SLACK)
    assert isinstance(ended[0], FatalError)
