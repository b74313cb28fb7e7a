"""Kafka's property names reach librdkafka under its own."""

from __future__ import annotations

import pytest
from confluent_kafka import Consumer, KafkaException, Producer

from eosfw.concurrency import ThreadRuntime
from eosfw.config.translation import Client
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
