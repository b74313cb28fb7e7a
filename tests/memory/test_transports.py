"""The client calls a broker of its own process directly, any other over a socket, and both mix."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable
from contextlib import closing
from functools import partial

import pytest

from eosfw.concurrency import Runtime, ThreadRuntime
from eosfw.config.security import SecuritySettings
from eosfw.errors import ConfigError, EosfwError, IllegalStateError
from eosfw.ids import TopicPartition
from eosfw.records import OffsetRange
from eosfw.security import Address
from eosfw.test_support import LogInspection
from eosfw_memory.client.backend import MemoryBackend
from eosfw_memory.client.consumer.fetch_session_handler import FetchSessionHandler
from eosfw_memory.client.transport.apis import FETCH
from eosfw_memory.client.transport.channel import ClosedError, NoAnswerError
from eosfw_memory.client.transport.channel_builder import ChannelBuilder, Opened
from eosfw_memory.client.transport.direct import DirectNetwork
from eosfw_memory.client.transport.sockets import SocketChannel, SocketNetwork
from eosfw_memory.cluster import EmbeddedCluster, served_here
from ports import free_port
from pytest_eos.contracts.backends.harness import COMMITTED, WAIT, BackendHarness, commit, record

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


@pytest.mark.parametrize(("writer", "reader"), [("direct", "socket"), ("socket", "direct"), ("direct", "direct")])
def test_a_commit_wakes_readers_of_every_transport(embedded: str, writer: str, reader: str) -> None:
    """Long polls hear of changes from any thread."""
    writing, reading = (
        BackendHarness(connect(embedded, writer), RUNTIME),
        BackendHarness(connect(embedded, reader), RUNTIME),
    )
    topic, producer = writing.topic(), writing.producer()
    seen: list[bytes | None] = []
    wanted = {TopicPartition(topic, 0): OffsetRange(0, 3)}
    waiting = RUNTIME.spawn("reader", lambda: seen.extend(row.value for row in reading.read(wanted)))

    for value in (b"a", b"b"):
        commit(producer, topic, value)

    assert waiting.join(WAIT)
    assert seen == [b"a", b"b"]
    writing.close()
    reading.close()


@pytest.mark.parametrize("transport", ["direct", "socket"])
def test_the_batches_of_a_log_are_read_as_they_are_stored(embedded: str, transport: str) -> None:
    """Producer, sequence and control records, of an aborted transaction, too."""
    lab = BackendHarness(connect(embedded, transport), RUNTIME)
    topic, producer = lab.topic(), lab.producer()
    commit(producer, topic, b"a")
    producer.begin_transaction()
    producer.send(record(topic, b"b"))
    producer.flush(WAIT)
    producer.abort_transaction(WAIT)
    assert isinstance(lab.backend, LogInspection)

    found = list(lab.backend.stored_batches(TopicPartition(topic, 0), 0, 4, WAIT))

    assert [each.control for each in found] == ["", "commit", "", "abort"]
    assert [each.first_offset for each in found] == [0, 1, 2, 3]
    assert [each.sequence_of(each.first_offset) for each in found] == [0, -1, 0, -1]
    assert len({each.producer_id for each in found}) == 1
    assert found[0].epoch < found[2].epoch
    lab.close()


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


def test_each_of_two_long_polls_of_one_client_is_woken_by_its_change(
    embedded: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also the first of them, though another thread waits by the same channel since."""
    monkeypatch.setattr("eosfw_memory.client.transport.direct._SLICE", 2 * WAIT)
    lab = BackendHarness(connect(embedded, "direct"), RUNTIME)
    reader = lab.backend.reader(COMMITTED, properties={"fetch.max.wait.ms": "60000"})
    topics = [lab.topic() for _ in range(2)]
    waiting = []
    for topic in topics:
        wanted = {TopicPartition(topic, 0): OffsetRange(0, 1)}
        waiting.append(RUNTIME.spawn("reader", partial(lambda wanted: list(reader.read(wanted, 2 * WAIT)), wanted)))
        assert not waiting[-1].join(0.05)

    for topic, thread in zip(topics, waiting, strict=True):
        lab.write(topic, b"v")
        assert thread.join(WAIT / 3)
    lab.close()


def test_a_request_is_not_called_unsent_when_its_broker_is_closed(runtime: Runtime) -> None:
    """It waits at a broker that ends: like over a socket it may have taken effect, and no later broker answers it."""
    same = {"listeners": f"PLAINTEXT://127.0.0.1:{free_port()}"}
    cluster = EmbeddedCluster.start(same, runtime)
    lab = BackendHarness(connect(cluster.bootstrap_servers, "direct"), runtime)
    reader = lab.backend.reader(COMMITTED)
    request = reader._request(FetchSessionHandler().next_fetch({TopicPartition(lab.topic(), 0): 0}), 60.0)
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
    before = set(threading.enumerate())
    lab = BackendHarness(connect(embedded, transport), RUNTIME)
    topic = lab.topic()
    lab.write(topic, b"v")
    lab.open_transaction(topic, b"w").abort_transaction(WAIT)

    assert lab.values(topic, COMMITTED) == [b"v"]
    assert set(threading.enumerate()) <= before
    lab.close()


def test_a_connection_that_the_broker_closed_between_transactions_is_made_anew(runtime: Runtime) -> None:
    """Brokers close idle connections: nothing was sent there, so nothing is indefinite."""
    cluster = EmbeddedCluster.start({}, runtime)
    lab = BackendHarness(connect(cluster.bootstrap_servers, "socket"), runtime)
    topic, producer = lab.topic(), lab.producer()
    server = cluster._server
    for value in (b"a", b"b"):
        commit(producer, topic, value)
        closed = runtime.event()
        for connection in tuple(server._connections):
            server._loop.call_soon_threadsafe(connection.abort)
        server._loop.call_soon_threadsafe(lambda closed=closed: server._loop.call_soon(closed.set))
        assert closed.wait(WAIT)

    assert lab.values(topic) == [b"a", b"b"]
    lab.close()
    cluster.close()


@pytest.mark.parametrize("transport", ["direct", "socket"])
def test_closing_frees_a_reader_that_waits(embedded: str, transport: str) -> None:
    """LogReader: a read under way on another thread ends by raising."""
    lab = BackendHarness(connect(embedded, transport), RUNTIME)
    topic = lab.topic()
    reader = lab.reader(COMMITTED)
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

    assert waiting.join(WAIT)
    assert isinstance(ended[0], IllegalStateError)
    lab.close()


def test_a_connection_that_is_closed_while_it_is_opened_leaves_no_socket() -> None:
    """A client is closed by another thread than the one that connects again."""
    opened: list[socket.socket] = []

    class ClosingBuilder(ChannelBuilder):
        def open(self, address: Address, left: Callable[[], float]) -> Opened:
            found = super().open(address, left)
            opened.append(found.socket)
            channel.close()
            return found

    runtime = ThreadRuntime()
    with closing(EmbeddedCluster.start({}, runtime)) as cluster:
        host, port = cluster.bootstrap_servers.split(":")
        builder = ClosingBuilder(SecuritySettings())
        channel = SocketChannel(Address(host, int(port)), "late", WAIT, runtime, builder)

        with pytest.raises(ClosedError):
            channel.connect(runtime.now() + WAIT)

        assert opened[0].fileno() == -1


def test_a_channel_is_not_made_for_a_client_that_is_closed_meanwhile() -> None:
    """Its connection would stay open: closing has gone through the channels before this one was among them."""
    network = SocketNetwork("127.0.0.1:1", "c", WAIT, RUNTIME)

    class Channels(dict[Address, SocketChannel]):
        def setdefault(self, address: Address, made: SocketChannel) -> SocketChannel:
            network.close()
            return super().setdefault(address, made)

    network._channels = Channels()

    with pytest.raises(ClosedError):
        network.at(Address("127.0.0.1", 1))
