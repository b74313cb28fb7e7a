"""Kafka's property names reach librdkafka under its own."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

import pytest
from confluent_kafka import Consumer, KafkaException, Producer

from eosfw.concurrency import ThreadRuntime
from eosfw.config.translation import Client
from eosfw.errors import ConfigError
from eosfw.ids import TopicPartition
from eosfw.protocols import IsolationLevel
from eosfw_confluent.backend import ConfluentBackend
from eosfw_confluent.properties import LIBRDKAFKA, TABLE

SERVERS = {"bootstrap.servers": "127.0.0.1:1"}
# A value that librdkafka accepts, where a number will not do.
VALUES = {
    "bootstrap.servers": "127.0.0.1:1",
    "client.dns.lookup": "use_all_dns_ips",
    "security.protocol": "PLAINTEXT",
    "sasl.mechanism": "PLAIN",
    "ssl.endpoint.identification.algorithm": "https",
    "acks": "all",
    "compression.type": "zstd",
    "enable.idempotence": "true",
    "enable.metrics.push": "false",
    "check.crcs": "true",
    "max.in.flight.requests.per.connection": "5",
    "batch.size": "16384",
    "max.request.size": "1048576",
    "max.partition.fetch.bytes": "1048576",
    "fetch.max.bytes": "52428800",
    "metadata.max.age.ms": "300000",
    "send.buffer.bytes": "131072",
    "receive.buffer.bytes": "65536",
    "delivery.timeout.ms": "120000",
    "request.timeout.ms": "30000",
    "socket.connection.setup.timeout.ms": "10000",
    "retry.backoff.max.ms": "1000",
    "reconnect.backoff.max.ms": "1000",
    "metadata.recovery.strategy": "rebootstrap",
}


def _checkable(name: str) -> bool:
    """Whether a value can be made up: those of certificates and tickets need files."""
    return TABLE[name].name is not None and (name in VALUES or not name.startswith(("ssl.", "sasl.kerberos")))


@pytest.mark.parametrize("name", [name for name in TABLE if _checkable(name)])
def test_every_translated_name_is_one_that_librdkafka_knows(name: str) -> None:
    """CFG-07: the table holds no name that the library would refuse."""
    own = {**SERVERS, name: VALUES.get(name, "100")}

    kinds = {Client.PRODUCER: Producer, Client.CONSUMER: Consumer}
    asked = [client for client in kinds if TABLE[name].clients & client]
    accepted = [kinds[client]({**LIBRDKAFKA.translate(own, client), "log_level": 0}) for client in asked]

    assert len(accepted) == len(asked) > 0
    with pytest.raises(KafkaException, match="No such configuration property"):
        Producer({**LIBRDKAFKA.translate(own, Client.PRODUCER), "log_level": 0, f"{TABLE[name].name}.misspelt": "1"})


def test_units_and_names_are_librdkafkas() -> None:
    """CFG-07: bytes become kilobytes, Java's names become the library's."""
    message = LIBRDKAFKA.translate(SERVERS, Client.PRODUCER, {"buffer.memory": "33554432", "max.request.size": "1000"})

    assert message["queue.buffering.max.kbytes"] == "32768"
    assert message["message.max.bytes"] == "1000"
    assert message["partitioner"] == "murmur2_random"


def test_delivery_never_outlives_its_transaction() -> None:
    """CFG-08: librdkafka refuses a longer one, Java's default would be for ever."""
    backend, forever = ConfluentBackend.connect(SERVERS, ThreadRuntime()), {"delivery.timeout.ms": "2147483647"}
    raw = {
        **LIBRDKAFKA.translate(SERVERS, Client.PRODUCER, forever),
        "transactional.id": "id",
        "transaction.timeout.ms": 5000,
    }
    with pytest.raises(KafkaException, match=r"`message.timeout.ms` must be set <= `transaction.timeout.ms`"):
        Producer(raw)

    producer = backend.producer("id", transaction_timeout=5.0, properties=forever)

    assert producer.transactional_id == "id"
    producer.close()


@pytest.mark.parametrize(
    "properties",
    [
        {"request.timeout.ms": "90000"},
        {"linger.ms": "70000"},
        {"delivery.timeout.ms": "10"},
        {"delivery.timeout.ms": "10", "linger.ms": "0.5"},
        {"delivery.timeout.ms": "10", "linger.ms": "15"},
    ],
)
@pytest.mark.parametrize("transactional_id", ["id", None])
def test_times_that_java_takes_together_are_taken(properties: dict[str, str], transactional_id: str | None) -> None:
    """CFG-07: librdkafka's error would name properties that nobody wrote."""
    backend = ConfluentBackend.connect(SERVERS, ThreadRuntime())

    producer = backend.producer(transactional_id, properties=properties)

    assert producer.transactional_id == transactional_id
    producer.close()


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda backend: backend.producer("id"), "linger.ms"),
        (lambda backend: backend.producer(None), "max.request.size"),
        (lambda backend: backend.reader(IsolationLevel.READ_COMMITTED), "fetch.max.wait.ms"),
        (lambda backend: backend.admin(), "request.timeout.ms"),
        (lambda backend: backend.group_consumer("g", "t", client_id="c"), "fetch.max.wait.ms"),
    ],
)
def test_an_error_about_a_refused_value_names_the_property_as_the_user_wrote_it(
    make: Callable[[ConfluentBackend], object], name: str
) -> None:
    """CFG-07: for librdkafka linger.ms is queue.buffering.max.ms."""
    others = {"fetch.min.bytes": "1", "batch.size": "1000"}
    backend = ConfluentBackend.connect({**SERVERS, **others, name: "soon"}, ThreadRuntime())

    with pytest.raises(ConfigError, match=f"^{name}: Invalid value") as refused:
        make(backend)

    assert len(refused.value.problems) == 1


@pytest.mark.parametrize(
    "properties",
    [
        {"request.timeout.ms": "30000"},
        {"linger.ms": "15000"},
        {"delivery.timeout.ms": "10"},
        {"acks": "1", "enable.idempotence": "false"},
        {"retries": "0", "max.in.flight.requests.per.connection": "10"},
    ],
    ids=str,
)
def test_what_is_set_for_producers_hinders_no_fencing(embedded: str, properties: dict[str, str]) -> None:
    """FEN-06: the zombies of a group whose producers or requests have times of their own are fenced, too."""
    backend = ConfluentBackend.connect({"bootstrap.servers": embedded, **properties}, ThreadRuntime())
    with closing(backend):
        assert backend.admin().fence_producers(["zombie"]).outcomes() == {"zombie": None}


def test_requests_of_an_admin_client_may_take_longer_than_its_fencing(embedded: str) -> None:
    """FEN-06: Java's default of request.timeout.ms, written for the admin client alone."""
    backend = ConfluentBackend.connect({"bootstrap.servers": embedded}, ThreadRuntime())
    with closing(backend):
        admin = backend.admin({"request.timeout.ms": "30000", "retries": "0"})
        assert admin.fence_producers(["zombie"]).outcomes() == {"zombie": None}


@pytest.mark.parametrize(
    "properties", [{"connections.max.idle.ms": "-1"}, {"default.api.timeout.ms": "7200000"}], ids=str
)
def test_values_that_only_java_has_are_taken(embedded: str, properties: dict[str, str]) -> None:
    """CFG-07: connections that are never closed for being idle, calls that may take hours."""
    backend = ConfluentBackend.connect({"bootstrap.servers": embedded, **properties}, ThreadRuntime())
    with closing(backend):
        admin = backend.admin()
        assert admin.cluster_id()
        assert admin.group_offsets("nobody", [TopicPartition("topic", 0)]) == {}
