"""Translate Kafka's client properties into librdkafka's, and find values that it refuses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import AdminClient

from eosfw.config.security import SECURITY_NAMES, OAuthBearerSettings, SecuritySettings
from eosfw.config.translation import Client, Translation, Translator, handled_by_backend, refusals
from eosfw.errors import ConfigError, Problem
from eosfw.security import authorities_pem


def _kilobytes(text: str) -> str:
    return str(max(1, int(text) // 1024))


def _same(clients: Client, *names: str) -> dict[str, Translation]:
    return {name: Translation(clients, name) for name in names}


TABLE: Mapping[str, Translation] = {
    **_same(Client.ANY, "bootstrap.servers", "client.id", "client.rack", "client.dns.lookup", "metadata.max.age.ms"),
    **_same(Client.ANY, "reconnect.backoff.ms", "reconnect.backoff.max.ms", "retry.backoff.ms", "retry.backoff.max.ms"),
    **_same(Client.ANY, "socket.connection.setup.timeout.ms", "enable.metrics.push"),
    **_same(Client.ANY, "metadata.recovery.strategy", "metadata.recovery.rebootstrap.trigger.ms"),
    **_same(Client.ANY, "sasl.kerberos.service.name"),
    "send.buffer.bytes": Translation(Client.ANY, "socket.send.buffer.bytes", lambda text: str(max(0, int(text)))),
    "receive.buffer.bytes": Translation(Client.ANY, "socket.receive.buffer.bytes", lambda text: str(max(0, int(text)))),
    # Never, for Java a negative number, is 0 for librdkafka.
    "connections.max.idle.ms": Translation(Client.ANY, "connections.max.idle.ms", lambda text: str(max(0, int(text)))),
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
"""librdkafka's name of each of Kafka's properties; those of security are `eosfw.config.security`'s."""

_HINTS: Mapping[str, str] = {
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


def _security(settings: SecuritySettings) -> dict[str, str]:
    ca_pem = settings.ca_pem
    if settings.protocol.tls and settings.truststore_location:  # librdkafka reads PKCS#12 for its own key alone
        ca_pem = authorities_pem(settings.truststore_location, settings.truststore_password)
    wanted = {
        "security.protocol": settings.protocol.value.lower(),
        "sasl.mechanism": settings.mechanism,
        "sasl.username": settings.username,
        "sasl.password": settings.password,
        "ssl.ca.location": settings.ca_location,
        "ssl.ca.pem": ca_pem,
        "ssl.certificate.location": settings.certificate_location,
        "ssl.certificate.pem": settings.certificate_pem,
        "ssl.key.location": settings.key_location,
        "ssl.key.pem": settings.key_pem,
        "ssl.key.password": settings.key_password,
        "ssl.keystore.location": settings.keystore_location,
        "ssl.keystore.password": settings.keystore_password,
        "ssl.cipher.suites": settings.ciphers,
        "ssl.endpoint.identification.algorithm": "" if settings.checks_host_name else "none",
        "enable.ssl.certificate.verification": "" if settings.verifies_certificate else "false",
    }
    return {name: text for name, text in {**wanted, **_oauthbearer(settings.oauthbearer)}.items() if text}


def _oauthbearer(tokens: OAuthBearerSettings) -> dict[str, str]:
    return {
        "sasl.oauthbearer.method": "oidc" if tokens.token_endpoint else "",
        "sasl.oauthbearer.token.endpoint.url": tokens.token_endpoint,
        "sasl.oauthbearer.client.id": tokens.client_id,
        "sasl.oauthbearer.client.secret": tokens.client_secret,
        "sasl.oauthbearer.scope": tokens.scope,
        "sasl.oauthbearer.extensions": ",".join(f"{name}={text}" for name, text in tokens.extensions),
        "https.ca.location": tokens.ca_location,
        "https.ca.pem": tokens.ca_pem,
    }


LIBRDKAFKA = Translator("confluent", TABLE, _HINTS, _DEFAULTS, _FIXED, _security)

_CLIENTS: Mapping[Client, type[Any]] = {
    Client.PRODUCER: Producer,
    Client.CONSUMER: Consumer,
    Client.ADMIN: AdminClient,
}
_COMBINATION_REFUSED = "Failed to create"
"""How a message begins that only complains about a combination: a single property is not to blame for it."""


def properties_of(client: Client, properties: Mapping[str, str]) -> dict[str, str]:
    """Those of a whole backend's properties that reach one kind of client; without those of security."""
    return {name: text for name, text in properties.items() if name in TABLE and client in TABLE[name].clients}


def invalid_properties(properties: Mapping[str, str], client: Client) -> list[Problem]:
    """The problems that librdkafka finds with each property alone; it does not connect, since no broker is named.

    It says nothing of single security properties, which have no meaning without the others.
    """
    others = {name: text for name, text in properties.items() if name not in SECURITY_NAMES}
    return refusals(others, lambda one: _try(LIBRDKAFKA.translate({}, client, one), client))


def _try(config: Mapping[str, Any], client: Client) -> None:
    try:
        _CLIENTS[client]({**config, "log_level": 0})
    except KafkaException as why:
        text = why.args[0].str()
        if not text.startswith(_COMBINATION_REFUSED):
            raise ConfigError(Problem("", text)) from None
