"""Translate Kafka's client properties into kafka-python's arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from eosfw.config.security import SecurityProtocol, SecuritySettings
from eosfw.config.translation import FOREVER, Client, Translation, Translator, handled_by_backend
from eosfw.security import client_context


def _yes(text: str) -> bool:
    value = text.strip().lower()
    if value not in ("true", "false"):
        raise ValueError(text)
    return value == "true"


def _buffer(text: str) -> int | None:
    return None if int(text) < 0 else int(text)


def _idle(text: str) -> int:
    """For how many milliseconds; a negative number is for ever, as in Java."""
    return FOREVER if int(text) < 0 else int(text)


def _lookup(text: str) -> str:
    if text.strip() not in ("use_all_dns_ips", "resolve_canonical_bootstrap_servers_only"):
        raise ValueError(text)
    return text.strip()


def _acks(text: str) -> int | str:
    value = text.strip().lower()
    return "all" if value in ("all", "-1") else int(value)


def _compression(text: str) -> str | None:
    value = text.strip().lower()
    if value not in ("none", "gzip", "snappy", "lz4", "zstd"):
        raise ValueError(text)
    return None if value == "none" else value


def _as(clients: Client, convert: Callable[[str], Any], *names: str) -> dict[str, Translation]:
    """Properties whose name differs only in dots and underscores."""
    refusal = "Not a number" if convert in (_buffer, _idle) else "Not one of its values"
    return {name: Translation(clients, name.replace(".", "_"), convert, refusal) for name in names}


def _numbers(clients: Client, *names: str, at_least: int = 0) -> dict[str, Translation]:
    """Numbers with Java's limit: the library takes others, and then never connects."""

    def convert(text: str) -> int:
        if int(text) < at_least:
            raise ValueError(text)
        return int(text)

    refusal = f"Not a number of at least {at_least}"
    return {name: Translation(clients, name.replace(".", "_"), convert, refusal) for name in names}


TABLE: Mapping[str, Translation] = {
    **_as(Client.ANY, str.strip, "bootstrap.servers", "client.id"),
    **_as(Client.ANY, _lookup, "client.dns.lookup"),
    **_numbers(Client.ANY, "metadata.max.age.ms", "reconnect.backoff.ms", "reconnect.backoff.max.ms"),
    **_numbers(Client.ANY, "retry.backoff.ms", "request.timeout.ms"),
    **_as(Client.ANY, _idle, "connections.max.idle.ms"),
    **_numbers(Client.ANY, "socket.connection.setup.timeout.ms", "socket.connection.setup.timeout.max.ms"),
    **_as(Client.ANY, _buffer, "send.buffer.bytes", "receive.buffer.bytes"),
    **_as(Client.ANY, str.strip, "sasl.kerberos.service.name"),
    **handled_by_backend(Client.ANY, "default.api.timeout.ms"),
    # --- producers
    **_numbers(Client.PRODUCER, "batch.size", "linger.ms", "delivery.timeout.ms", "max.request.size"),
    **_numbers(Client.PRODUCER, "max.in.flight.requests.per.connection", at_least=1),
    **_numbers(Client.PRODUCER | Client.ADMIN, "retries"),
    **_as(Client.PRODUCER, _yes, "enable.idempotence"),
    **_as(Client.PRODUCER, _acks, "acks"),
    **_as(Client.PRODUCER, _compression, "compression.type"),
    **handled_by_backend(
        Client.PRODUCER, "buffer.memory", "max.block.ms", "transaction.timeout.ms", "transactional.id"
    ),
    # --- consumers
    **_numbers(Client.CONSUMER, "fetch.min.bytes", "fetch.max.bytes", "max.partition.fetch.bytes"),
    **_numbers(Client.CONSUMER, "max.poll.records", at_least=1),
    **_numbers(Client.CONSUMER, "fetch.max.wait.ms"),
    **_as(Client.CONSUMER, _yes, "check.crcs"),
    **_as(Client.CONSUMER, str.strip, "client.rack"),
    # Properties that only a consumer group needs, or that a reader sets itself.
    **handled_by_backend(
        Client.CONSUMER, "group.id", "group.instance.id", "session.timeout.ms", "heartbeat.interval.ms"
    ),
    **handled_by_backend(Client.CONSUMER, "max.poll.interval.ms", "auto.offset.reset", "enable.auto.commit"),
    **handled_by_backend(Client.CONSUMER, "auto.commit.interval.ms", "isolation.level", "allow.auto.create.topics"),
}
"""Kafka's names, each with kafka-python's; those of security are `eosfw.config.security`'s."""

_HINTS: Mapping[str, str] = {
    "partitioner.class": "records are partitioned as Java's default partitioner does; remove it",
}

_DEFAULTS: Mapping[Client, Mapping[str, Any]] = {
    Client.ANY: {"reconnect_backoff_max_ms": 1000},
    Client.PRODUCER: {
        # It only makes batches larger: a flush does not linger, so that a transaction never waits for it. A partition
        # has one batch in flight at a time, so that small batches would wait for each other.
        "linger_ms": 20,
        "batch_size": 262_144,
        "acks": "all",
        # The pause before a request is repeated that the coordinator was not ready for, which happens whenever one
        # transaction follows another at once.
        "retry_backoff_ms": 10,
        "request_timeout_ms": 30_000,
        "delivery_timeout_ms": 120_000,
    },
    Client.CONSUMER: {
        # An empty answer shows the end of a partition; a longer wait for data would delay every bounded read.
        "fetch_max_wait_ms": 20,
        "retry_backoff_ms": 20,
        "max_poll_records": 5_000,
        "max_partition_fetch_bytes": 4_194_304,
    },
}

_FIXED: Mapping[Client, Mapping[str, Any]] = {
    # As Java's producer does: whether a missing topic is created, the brokers' `auto.create.topics.enable` says.
    Client.PRODUCER: {"allow_auto_create_topics": True, "metrics_enabled": False},
    Client.CONSUMER: {
        # A start offset that was deleted is an error, never a silent jump.
        "auto_offset_reset": "none",
        "enable_auto_commit": False,
        "allow_auto_create_topics": False,
        "metrics_enabled": False,
    },
}


def _security(settings: SecuritySettings) -> dict[str, Any]:
    wanted: dict[str, Any] = {}
    if settings.protocol is not SecurityProtocol.PLAINTEXT:
        wanted["security_protocol"] = settings.protocol.value
    if settings.protocol.tls:
        # The library would read PEM files alone, and refuse what the other clients take.
        wanted["ssl_context"] = client_context(settings)
    if settings.mechanism:
        wanted["sasl_mechanism"] = settings.mechanism
    if settings.username:
        wanted |= {"sasl_plain_username": settings.username, "sasl_plain_password": settings.password}
    return wanted


KAFKA_PYTHON = Translator("kafka-python", TABLE, _HINTS, _DEFAULTS, _FIXED, _security)
