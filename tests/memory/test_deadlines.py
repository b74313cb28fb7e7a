"""Every call ends by its deadline, even if the server does not speak Kafka's protocol."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest

from eosfw.concurrency import Runtime, ThreadRuntime
from eosfw.errors import ClusterUnavailableError, EosfwError, IllegalStateError
from eosfw.ids import TopicPartition
from eosfw.records import OffsetRange
from eosfw_memory.client.backend import MemoryBackend
from eosfw_memory.cluster import EmbeddedCluster
from pytest_eos.contracts.backends.deadlines import BOUND, CALLS, SLACK
from pytest_eos.contracts.backends.harness import UNCOMMITTED, WAIT, BackendHarness

RUNTIME = ThreadRuntime()


def connect(address: str, runtime: Runtime = RUNTIME, **more: str) -> MemoryBackend:
    properties = {"bootstrap.servers": address, "default.api.timeout.ms": str(round(BOUND * 1000))}
    return MemoryBackend.connect({**properties, **more}, runtime)


class Babbler:
    """A server that answers every request with the same bytes."""

    def __init__(self, message: bytes) -> None:
        self._response = message
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
                    accepted.sendall(self._response)
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
    """The port of a server that does not speak Kafka's protocol."""
    babbler = Babbler(GARBAGE[request.param])
    yield babbler
    babbler.close()


@pytest.mark.parametrize("call", CALLS)
def test_an_invalid_response_is_an_eosfw_error_within_the_deadline(babbler: Babbler, call: str) -> None:
    """Hostile answers: typed, named, never a hang; nothing was sent, so nothing is indefinite."""
    began = RUNTIME.now()
    backend = connect(babbler.address, **{"request.timeout.ms": "300"})

    with pytest.raises(ClusterUnavailableError, match=babbler.address):
        CALLS[call](backend)

    assert RUNTIME.now() - began < BOUND + SLACK
    backend.close()


@pytest.mark.parametrize("transport", ["direct", "socket"])
def test_a_transaction_without_records_commits_though_the_cluster_is_gone(transport: str) -> None:
    """TXN-17: an empty transaction needs no request."""
    cluster = EmbeddedCluster.start({}, RUNTIME)
    lab = BackendHarness(connect(cluster.bootstrap_servers, **{"eosfw.transport": transport}), RUNTIME)
    producer = lab.producer()
    cluster.close()

    producer.begin_transaction()
    producer.commit_transaction(BOUND)
    producer.begin_transaction()
    with pytest.raises(ClusterUnavailableError):
        lab.admin.partitions()
    lab.close()


@pytest.mark.parametrize("transport", ["direct", "socket"])
def test_closing_frees_a_reader_that_waits(embedded: str, transport: str) -> None:
    """LogReader: a read under way on another thread ends by raising."""
    lab = BackendHarness(connect(embedded, **{"eosfw.transport": transport}), RUNTIME)
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
