"""The client calls a broker of its own process directly, any other over a socket, and both mix."""

from __future__ import annotations

import os

import pytest

from eosfw.concurrency import Runtime, ThreadRuntime
from eosfw.errors import ClusterUnavailableError, ConfigError
from eosfw.ids import TopicPartition
from eosfw.records import OffsetRange
from eosfw_memory.client.backend import MemoryBackend
from eosfw_memory.client.transport.apis import FETCH
from eosfw_memory.client.transport.channel import NoAnswerError
from eosfw_memory.client.transport.direct import DirectNetwork
from eosfw_memory.client.transport.sockets import SocketNetwork
from eosfw_memory.cluster import EmbeddedCluster, served_here
from ports import free_port
from pytest_eos.contracts.backends.harness import COMMITTED, WAIT, BackendHarness, record

RUNTIME = ThreadRuntime()


def connect(servers: str, transport: str | None = None) -> MemoryBackend:
    message = {} if transport is None else {"eosfw.transport": transport}
    return MemoryBackend.connect({"bootstrap.servers": servers, **message}, RUNTIME)


def network(backend: MemoryBackend) -> object:
    return backend.producer(None)._metadata.network


def test_a_cluster_of_this_process_is_called_directly_by_default(embedded: str) -> None:
    """One client with two transports: the rules cannot differ between direct calls and a socket."""
    assert isinstance(network(connect(embedded)), DirectNetwork)
    assert isinstance(network(connect(f"127.0.0.1:1, {embedded}")), DirectNetwork)
    assert isinstance(network(connect(embedded, "socket")), SocketNetwork)


def test_a_forked_child_goes_through_the_socket(embedded: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has a copy of the broker's memory, not the broker."""
    here = os.getpid()
    monkeypatch.setattr(os, "getpid", lambda: here + 1)

    assert served_here(embedded) is None


def test_direct_calls_to_another_processs_cluster_are_refused() -> None:
    """CFG-05."""
    with pytest.raises(ConfigError, match="serves no embedded cluster at"):
        connect("127.0.0.1:1", "direct")
    with pytest.raises(ConfigError, match="direct, socket or auto"):
        connect("127.0.0.1:1", "pigeon")


def test_calls_to_a_closed_cluster_fail_with_a_clear_error() -> None:
    """Nothing of a cluster outlives its close."""
    cluster = EmbeddedCluster.start({}, RUNTIME)
    backend = MemoryBackend.connect(
        {"bootstrap.servers": cluster.bootstrap_servers, "default.api.timeout.ms": "100"}, RUNTIME
    )
    admin = backend.admin()
    admin.partitions()
    cluster.close()

    assert served_here(cluster.bootstrap_servers) is None
    with pytest.raises(ClusterUnavailableError, match=cluster.bootstrap_servers):
        admin.partitions()


@pytest.mark.parametrize(("writer", "reader"), [("direct", "socket"), ("socket", "direct"), ("direct", "direct")])
def test_a_commit_wakes_readers_of_every_transport(embedded: str, writer: str, reader: str) -> None:
    """Long polls hear of changes from any thread."""
    writing, reading = (
        BackendHarness(connect(embedded, writer), RUNTIME),
        BackendHarness(connect(embedded, reader), RUNTIME),
    )
    topic = writing.topic()
    producer = writing.producer()
    seen: list[bytes | None] = []
    wanted = {TopicPartition(topic, 0): OffsetRange(0, 3)}
    waiting = RUNTIME.spawn("reader", lambda: seen.extend(row.value for row in reading.read(wanted)))

    for value in (b"a", b"b"):
        producer.begin_transaction()
        producer.send(record(topic, value))
        producer.commit_transaction(WAIT)

    assert waiting.join(WAIT)
    assert seen == [b"a", b"b"]
    writing.close()
    reading.close()


def test_a_long_poll_by_direct_calls_is_woken_by_the_change(embedded: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A long poll ends with the change it waits for."""
    monkeypatch.setattr("eosfw_memory.client.transport.direct._SLICE", 2 * WAIT)
    lab = BackendHarness(connect(embedded, "direct"), RUNTIME)
    topic = lab.topic()
    reader = lab.backend.reader(COMMITTED, properties={"fetch.max.wait.ms": "60000"})
    wanted = {TopicPartition(topic, 0): OffsetRange(0, 1)}
    waiting = RUNTIME.spawn("reader", lambda: list(reader.read(wanted, 2 * WAIT)))

    assert not waiting.join(0.05)
    lab.write(topic, b"v")

    assert waiting.join(WAIT / 2)
    lab.close()


def test_a_request_is_not_called_unsent_when_its_broker_is_closed(runtime: Runtime) -> None:
    """It waits at a broker that ends: like over a socket it may have taken effect, and no later broker answers it."""
    same = {"listeners": f"PLAINTEXT://127.0.0.1:{free_port()}"}
    cluster = EmbeddedCluster.start(same, runtime)
    lab = BackendHarness(connect(cluster.bootstrap_servers, "direct"), runtime)
    reader = lab.backend.reader(COMMITTED)
    request = reader._request({TopicPartition(lab.topic(), 0): 0}, 60.0)
    sent = reader._metadata.network.any(WAIT).send(FETCH, request, runtime.now() + WAIT)
    assert sent.wait(runtime.now()) is None

    cluster.close()
    with pytest.raises(NoAnswerError):
        sent.wait(runtime.now() + WAIT)
    successor = EmbeddedCluster.start(same, runtime)
    with pytest.raises(NoAnswerError):
        sent.wait(runtime.now() + WAIT)

    lab.close()
    successor.close()


@pytest.mark.parametrize("transport", ["direct", "socket"])
def test_no_thread_is_needed(embedded: str, transport: str) -> None:
    """A client is what its caller's thread does, nothing else."""
    import threading

    before = threading.active_count()
    lab = BackendHarness(connect(embedded, transport), RUNTIME)
    topic = lab.topic()
    lab.write(topic, b"v")
    lab.open_transaction(topic, b"w").abort_transaction(WAIT)

    assert lab.values(topic, COMMITTED) == [b"v"]
    assert threading.active_count() == before
    lab.close()


def test_a_connection_that_the_broker_closed_between_transactions_is_made_anew(runtime: Runtime) -> None:
    """Brokers close idle connections: nothing was sent there, so nothing is indefinite."""
    cluster = EmbeddedCluster.start({}, runtime)
    lab = BackendHarness(connect(cluster.bootstrap_servers, "socket"), runtime)
    topic, producer = lab.topic(), lab.producer()
    server = cluster._server
    for value in (b"a", b"b"):
        producer.begin_transaction()
        producer.send(record(topic, value))
        producer.commit_transaction(WAIT)
        closed = runtime.event()
        for connection in tuple(server._connections):
            server._loop.call_soon_threadsafe(connection.abort)
        server._loop.call_soon_threadsafe(lambda closed=closed: server._loop.call_soon(closed.set))
        assert closed.wait(WAIT)

    assert lab.values(topic) == [b"a", b"b"]
    lab.close()
    cluster.close()
