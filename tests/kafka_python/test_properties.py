"""Kafka's property names reach kafka-python under its own."""

from __future__ import annotations

from contextlib import closing

import pytest
from kafka import KafkaConsumer, KafkaProducer
from kafka.net.manager import KafkaConnectionManager

from eosfw.concurrency import ThreadRuntime
from eosfw.config.translation import Client
from eosfw.errors import ConfigError
from eosfw_kafka_python.backend import KafkaPythonBackend
from eosfw_kafka_python.properties import KAFKA_PYTHON, TABLE

SERVERS = {"bootstrap.servers": "127.0.0.1:1"}
NETWORK = frozenset(KafkaConnectionManager.DEFAULT_CONFIG)
KNOWN = {
    Client.PRODUCER: frozenset(KafkaProducer.DEFAULT_CONFIG) | NETWORK,
    Client.CONSUMER: frozenset(KafkaConsumer.DEFAULT_CONFIG) | NETWORK,
    # What is asked one by one needs no retries of the library's; TLS without a context of its own is the producer's.
    Client.ADMIN: NETWORK | {"retries", "retry_backoff_ms", "send_buffer_bytes", "receive_buffer_bytes", "ssl_ciphers"},
}


@pytest.mark.parametrize("client", KNOWN, ids=str)
def test_every_translated_name_is_one_that_the_library_knows(client: Client) -> None:
    """CFG-07: the table holds no name that the library would refuse, or drop."""
    translated = {entry.name for entry in TABLE.values() if entry.name is not None and client in entry.clients}

    assert translated <= KNOWN[client]


@pytest.mark.parametrize("client", KNOWN, ids=str)
def test_every_default_is_one_that_the_library_knows(client: Client) -> None:
    """CFG-07: what is said unasked, too."""
    assert set(KAFKA_PYTHON.translate(SERVERS, client)) - {"bootstrap_servers"} <= KNOWN[client]


def test_units_types_and_names_are_kafka_pythons() -> None:
    """CFG-07: texts become the library's values."""
    given = {
        "acks": "-1",
        "compression.type": "none",
        "enable.idempotence": "true",
        "linger.ms": "5",
        "sasl.username": "me",
        "security.protocol": "sasl_plaintext",
        "send.buffer.bytes": "-1",
    }

    message = KAFKA_PYTHON.translate(SERVERS, Client.PRODUCER, given)

    expected = {
        "acks": "all",
        "compression_type": None,
        "enable_idempotence": True,
        "linger_ms": 5,
        "sasl_plain_username": "me",
        "security_protocol": "SASL_PLAINTEXT",
        "send_buffer_bytes": None,
    }
    assert {name: message[name] for name in expected} == expected


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("request.timeout.ms", "-1"),
        ("retry.backoff.ms", "-1"),
        ("max.in.flight.requests.per.connection", "0"),
        ("fetch.max.wait.ms", "soon"),
        ("client.dns.lookup", "default"),
    ],
)
def test_a_value_with_which_the_library_would_never_connect_is_refused_by_its_name(name: str, text: str) -> None:
    """CFG-07: Java has the same limits; the library would say that no broker answered."""
    with pytest.raises(ConfigError, match=f"Invalid value {text} for configuration {name}: Not "):
        KafkaPythonBackend.connect({**SERVERS, name: text}, ThreadRuntime())


def test_connections_that_java_never_closes_stay_open(embedded: str) -> None:
    """CFG-07: a negative `connections.max.idle.ms`; the library would close each at once."""
    properties = {"bootstrap.servers": embedded, "connections.max.idle.ms": "-1"}
    with closing(KafkaPythonBackend.connect(properties, ThreadRuntime())) as backend:
        assert backend.admin().cluster_id()


def test_delivery_never_outlives_its_transaction(embedded: str) -> None:
    """CFG-08: nor does an attempt outlive delivery, which the library refuses; Java's default would be for ever."""
    backend = KafkaPythonBackend.connect({"bootstrap.servers": embedded}, ThreadRuntime())

    producer = backend.producer("short", transaction_timeout=5.0, properties={"delivery.timeout.ms": "2147483647"})
    producer.init_transactions(20.0)

    config = producer._client.config
    assert config["delivery_timeout_ms"] == 5000
    assert config["request_timeout_ms"] + config["linger_ms"] <= 5000
    backend.close()
