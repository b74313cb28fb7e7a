"""Translate Kafka's client properties into librdkafka's, and find values that it refuses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import AdminClient

from eosfw.config.translation import Client, Translation, Translator, handled_by_backend, refusals
from eosfw.errors import ConfigError, Problem


def _kilobytes(text: str) -> str:
    return str(max(1, int(text) // 1024))


def _lower(text: str) -> str:
    return text.strip().lower()


def _same(clients: Client, *names: str) -> dict[str, Translation]:
    return {name: Translation(clients, name) for name in names}


TABLE: Mapping[str, Translation] = {
    **_same(Client.ANY, "bootstrap.servers", "client.id", "client.rack", "client.dns.lookup", "metadata.max.age.ms"),
    **_same(Client.ANY, "reconnect.backoff.ms", "reconnect.backoff.max.ms", "retry.backoff.ms", "retry.backoff.max.ms"),
    **_same(Client.ANY, "connections.max.idle.ms", "socket.connection.setup.timeout.ms", "enable.metrics.push"),
    **_same(Client.ANY, "metadata.recovery.strategy", "metadata.recovery.rebootstrap.trigger.ms"),
    **_same(Client.ANY, "sasl.mechanism", "sasl.username", "sasl.password", "sasl.kerberos.service.name"),
    **_same(Client.ANY, "ssl.ca.location", "ssl.certificate.location", "ssl.key.location", "ssl.key.password"),
    **_same(Client.ANY, "ssl.keystore.location", "ssl.keystore.password", "ssl.cipher.suites"),
    "security.protocol": Translation(Client.ANY, "security.protocol", _lower),
    "ssl.endpoint.identification.algorithm": Translation(
        Client.ANY, "ssl.endpoint.identification.algorithm", lambda text: _lower(text) or "none"
    ),
    "send.buffer.bytes": Translation(Client.ANY, "socket.send.buffer.bytes", lambda text: str(max(0, int(text)))),
    "receive.buffer.bytes": Translation(Client.ANY, "socket.receive.buffer.bytes", lambda text: str(max(0, int(text)))),
    "request.timeout.ms": Translation(Client.ANY, "socket.timeout.ms"),
    **handled_by_backend(Client.ANY, "default.api.timeout.ms"),
    # --- producers
    **_same(Client.PRODUCER, "acks", "batch.size", "compression.type", "enable.idempotence", "linger.ms"),
    **_same(Client.PRODUCER | Client.ADMIN, "retries"),
    **_same(Client.PRODUCER, "delivery.timeout.ms", "max.in.flight.requests.per.connection"),
    "max.request.size": Translation(Client.PRODUCER, "message.max.bytes"),
    "buffer.memory": Translation(Client.PRODUCER, "queue.buffering.max.kbytes", _kilobytes),
    **handled_by_backend(Client.PRODUCER, "max.block.ms", "transaction.timeout.ms", "transactional.id"),
    # --- consumers
    **_same(Client.CONSUMER, "check.crcs", "fetch.min.bytes", "fetch.max.bytes", "max.partition.fetch.bytes"),
    "fetch.max.wait.ms": Translation(Client.CONSUMER, "fetch.wait.max.ms"),
    # Properties that only a consumer group needs, or that a reader sets itself.
    **handled_by_backend(
        Client.CONSUMER, "group.id", "group.instance.id", "session.timeout.ms", "heartbeat.interval.ms"
    ),
    **handled_by_backend(
        Client.CONSUMER, "max.poll.interval.ms", "max.poll.records", "auto.offset.reset", "enable.auto.commit"
    ),
    **handled_by_backend(Client.CONSUMER, "auto.commit.interval.ms", "isolation.level", "allow.auto.create.topics"),
}
"""librdkafka's name of each of Kafka's properties; security properties of librdkafka alone keep their names."""

_HINTS: Mapping[str, str] = {
    "sasl.jaas.config": "it is Java's; say sasl.mechanism, sasl.username, sasl.password instead",
    "ssl.truststore.location": "it is Java's; say ssl.ca.location with a PEM file instead",
    "ssl.truststore.password": "it is Java's; say ssl.ca.location with a PEM file instead",
    "partitioner.class": "records are partitioned as Java's default partitioner does; remove it",
}

_DEFAULTS: Mapping[Client, Mapping[str, str]] = {
    Client.ANY: {
        # Half of it is also the pause between connections: the second one of a new client, to a learned broker, waits.
        "reconnect.backoff.ms": "20",
        "reconnect.backoff.max.ms": "1000",
        "topic.metadata.refresh.fast.interval.ms": "50",
        # With a rebootstrap librdkafka drops its only broker while that restarts, and then waits for ever for the
        # dropped one to coordinate its groups (librdkafka#5511).
        "metadata.recovery.strategy": "none",
    },
    Client.PRODUCER: {
        # It only makes batches larger: a flush does not linger, so that a transaction never waits for it.
        "linger.ms": "20",
        "batch.num.messages": "100000",
        "queue.buffering.max.messages": "500000",
        "queue.buffering.max.kbytes": "262144",
        "acks": "all",
        "enable.idempotence": "true",
        # Within this time the metadata must show a topic, or its records fail; create_topics has waited for leaders.
        "topic.metadata.propagation.max.ms": "5000",
        "retry.backoff.ms": "50",
    },
    Client.CONSUMER: {
        # An empty answer shows the end of a partition; a longer wait for data would delay every bounded read.
        "fetch.wait.max.ms": "5",
        "fetch.queue.backoff.ms": "5",
        "fetch.error.backoff.ms": "50",
        "queued.max.messages.kbytes": "65536",
    },
}

_FIXED: Mapping[Client, Mapping[str, str]] = {
    Client.PRODUCER: {
        # Java's default partitioner: equal keys go to equal partitions, whichever client sends them.
        "partitioner": "murmur2_random",
    },
    Client.CONSUMER: {
        # The library requires a group; partitions are assigned and no offset is committed, so that it is never used.
        "group.id": "eosfw-reader",
        "enable.auto.commit": "false",
        "enable.auto.offset.store": "false",
        # A start offset that was deleted is an error, never a silent jump.
        "auto.offset.reset": "error",
        # position() moves past control records only at this event.
        "enable.partition.eof": "true",
        "allow.auto.create.topics": "false",
    },
}

LIBRDKAFKA = Translator("confluent", TABLE, _HINTS, _DEFAULTS, _FIXED)

_CLIENTS: Mapping[Client, type[Any]] = {
    Client.PRODUCER: Producer,
    Client.CONSUMER: Consumer,
    Client.ADMIN: AdminClient,
}
_COMBINATION_REFUSED = "Failed to create"
"""How a message begins that only complains about a combination: a single property is not to blame for it."""


def invalid_properties(properties: Mapping[str, str], client: Client) -> list[Problem]:
    """The problems that librdkafka finds with each property alone; it does not connect, since no broker is named."""
    return refusals(properties, lambda one: _try(LIBRDKAFKA.translate({}, client, one), client))


def _try(config: Mapping[str, Any], client: Client) -> None:
    try:
        _CLIENTS[client]({**config, "log_level": 0})
    except KafkaException as why:
        text = why.args[0].str()
        if not text.startswith(_COMBINATION_REFUSED):
            raise ConfigError(Problem("", text)) from None
