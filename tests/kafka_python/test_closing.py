"""Threads and sockets that kafka-python leaves behind, and how the backend closes them."""

from __future__ import annotations

import gc
import socket
import threading
import uuid
from collections.abc import Callable
from contextlib import suppress

import pytest
from kafka import KafkaConsumer, KafkaProducer
from kafka import errors as kafka_errors
from kafka.net.compat import KafkaNetClient
from kafka.net.connection import KafkaConnection
from kafka.net.inet import KafkaNetSocket
from kafka.net.transport import KafkaTCPTransport

from eosfw.concurrency import ThreadRuntime
from eosfw.ids import TopicPartition
from eosfw.protocols import IsolationLevel
from eosfw.records import OffsetRange, ProducerRecord
from eosfw_kafka_python.backend import KafkaPythonBackend
from eosfw_kafka_python.connection import DIRECT, ClosingClient, close_client
from eosfw_kafka_python.producer import KafkaPythonProducer
from eosfw_memory.cluster import EmbeddedCluster

from .conftest import LINGERING, WAIT

COMMITTED = IsolationLevel.READ_COMMITTED


def test_the_librarys_thread_delivers_after_close_with_timeout_zero(
    bare: Callable[..., KafkaProducer], producer: KafkaPythonProducer, topic: str
) -> None:
    """TXN-02: a discarded producer must not write any more."""
    library = bare(linger_ms=30_000)
    library.begin_transaction()
    library.send(topic, b"v", partition=0)
    with pytest.raises(kafka_errors.KafkaTimeoutError):
        library.close(timeout=0)
    assert library._sender.is_alive()

    producer.begin_transaction()
    producer.send(ProducerRecord(topic, b"v", partition=0))
    sender = producer._client._sender
    producer.close()
    sender.join(WAIT)
    assert not sender.is_alive()


def test_closing_ends_the_thread_of_a_producer_whose_cluster_is_gone() -> None:
    """Common rules: no thread is left behind; the library's own close would leave it looking for a broker."""
    cluster = EmbeddedCluster.start({}, ThreadRuntime())
    backend = KafkaPythonBackend.connect({"bootstrap.servers": cluster.bootstrap_servers}, ThreadRuntime())
    producer = backend.producer("id")
    producer.init_transactions(WAIT)
    sender = producer._client._sender
    cluster.close()

    producer.close()
    sender.join(WAIT)

    assert not sender.is_alive()
    backend.close()


def test_an_unclosed_dropped_client_leaves_no_thread(embedded: str, topic: str) -> None:
    """Common rules: the library's threads hold their clients, so they would run, and deliver, for ever."""
    before = set(threading.enumerate())
    backend = KafkaPythonBackend.connect({"bootstrap.servers": embedded}, ThreadRuntime())
    assert topic in backend.admin().partitions()
    producer = backend.producer(None)
    producer.send(ProducerRecord(topic, b"v", partition=0))
    producer.flush(WAIT)
    assert [len(each) for each in backend.reader(COMMITTED).read({TopicPartition(topic, 0): OffsetRange(0, 1)}, WAIT)]
    producer = backend.producer(uuid.uuid4().hex, properties=LINGERING)
    producer.init_transactions(WAIT)
    producer.begin_transaction()
    producer.send(ProducerRecord(topic, b"v", partition=0))
    left = set(threading.enumerate()) - before
    assert left

    del producer
    gc.collect()
    for each in left:
        each.join(WAIT)

    assert not [each for each in left if each.is_alive()]


def test_a_constructor_that_fails_leaves_its_thread_behind(backend: KafkaPythonBackend) -> None:
    """Common rules: constructors do not talk to the cluster; a client that could not be made leaves nothing behind."""

    def threads() -> set[str]:
        return {each.name for each in threading.enumerate() if each.name.startswith("kafka-io-lost")}

    made: list[KafkaNetClient] = []

    def client(**config: object) -> KafkaNetClient:
        made.append(KafkaNetClient(**config))
        return made[0]

    with pytest.raises(kafka_errors.KafkaTimeoutError):
        KafkaConsumer(
            bootstrap_servers="127.0.0.1:1",
            client_id="lost-library",
            bootstrap_timeout_ms=50,
            kafka_client=client,
            proxy_url=DIRECT,
        )
    assert threads() == {"kafka-io-lost-library"}
    close_client(made[0])

    nowhere = {"bootstrap.servers": "127.0.0.1:1", "client.id": "lost-ours"}
    reader = KafkaPythonBackend.connect(nowhere, ThreadRuntime()).reader(COMMITTED)
    with pytest.raises(Exception, match="no broker answered"):
        list(reader.read({TopicPartition("t", 0): OffsetRange(0, 1)}, 0.05))
    assert "kafka-io-lost-ours" not in threads()


def test_kafka_python_leaves_sockets_of_failed_connections_open() -> None:
    """Common rules: nothing is left behind; a client that looks long for its broker would run out of descriptors."""

    def failed(kind: str | None) -> socket.socket:
        sock = socket.socket()
        connecting = KafkaNetSocket(kind).sock_connect(None, sock, ("127.0.0.1", 1), timeout_at=0.0)
        with pytest.raises(kafka_errors.KafkaError):
            connecting.send(None)
        return sock

    with failed(None) as library, failed(DIRECT) as eosfw_error:
        assert (library.fileno() >= 0, eosfw_error.fileno() >= 0) == (True, False)


@pytest.mark.parametrize(("kind", "closes"), [(KafkaNetClient, False), (ClosingClient, True)])
def test_kafka_python_leaves_sockets_of_unsent_requests_open(kind: type[KafkaNetClient], *, closes: bool) -> None:
    """Common rules: nothing is left behind by a client that is closed while its broker reads no more requests."""
    client = kind(bootstrap_servers="127.0.0.1:1")
    opened, broker = socket.socketpair()
    with opened, broker:
        opened.setblocking(False)
        connection = client._manager._conns["broker"] = KafkaConnection(client._net)
        connection.connection_made(KafkaTCPTransport(client._net, opened))
        connection._init_complete()
        with suppress(BlockingIOError):
            while True:
                opened.send(bytes(1 << 16))
        connection.transport.write(b"request")

        close_client(client)

        assert (opened.fileno() < 0) == closes
