"""Check Kafka's client properties, type those that this client acts on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Flag, auto
from typing import Self

from eosfw.config.definition import nearest
from eosfw.errors import ConfigError, Problem
from eosfw_memory.client.sockets import addresses

TRANSPORT = "eosfw.transport"
FOREVER = 2_147_483_647
"""From here on Java means "wait for ever"; we wait for our own deadline (CFG-08)."""


class Client(Flag):
    """Which kind of client knows a property."""

    PRODUCER = auto()
    CONSUMER = auto()
    ADMIN = auto()
    ANY = PRODUCER | CONSUMER | ADMIN


_ALL = ("all", "-1")
_KNOWN: Mapping[str, Client] = {
    **dict.fromkeys(("bootstrap.servers", "client.id", "request.timeout.ms", "default.api.timeout.ms"), Client.ANY),
    **dict.fromkeys(("security.protocol", TRANSPORT), Client.ANY),
    # Connections, retries and look-ups follow each call's own deadline here.
    **dict.fromkeys(("client.rack", "client.dns.lookup", "metadata.max.age.ms", "retries"), Client.ANY),
    **dict.fromkeys(("reconnect.backoff.ms", "reconnect.backoff.max.ms", "retry.backoff.ms"), Client.ANY),
    **dict.fromkeys(("retry.backoff.max.ms", "connections.max.idle.ms", "enable.metrics.push"), Client.ANY),
    **dict.fromkeys(("send.buffer.bytes", "receive.buffer.bytes"), Client.ANY),
    **dict.fromkeys(("socket.connection.setup.timeout.ms",), Client.ANY),
    **dict.fromkeys(("acks", "enable.idempotence", "compression.type", "max.request.size"), Client.PRODUCER),
    **dict.fromkeys(("max.block.ms", "transaction.timeout.ms", "transactional.id"), Client.PRODUCER),
    # One request is under way at a time; batches are as large as what was sent since the last one.
    **dict.fromkeys(("linger.ms", "batch.size", "buffer.memory", "delivery.timeout.ms"), Client.PRODUCER),
    **dict.fromkeys(("max.in.flight.requests.per.connection",), Client.PRODUCER),
    **dict.fromkeys(("fetch.max.bytes", "max.partition.fetch.bytes", "fetch.max.wait.ms"), Client.CONSUMER),
    # What only a consumer group needs, or what a reader settles itself.
    **dict.fromkeys(("fetch.min.bytes", "check.crcs", "group.id", "group.instance.id"), Client.CONSUMER),
    **dict.fromkeys(("session.timeout.ms", "heartbeat.interval.ms", "max.poll.interval.ms"), Client.CONSUMER),
    **dict.fromkeys(("max.poll.records", "auto.offset.reset", "enable.auto.commit"), Client.CONSUMER),
    **dict.fromkeys(("auto.commit.interval.ms", "isolation.level", "allow.auto.create.topics"), Client.CONSUMER),
}
_ALLOWED: Mapping[str, tuple[str, ...]] = {
    TRANSPORT: ("auto", "direct", "socket"),
    "security.protocol": ("PLAINTEXT",),
    "compression.type": ("none",),
    "acks": _ALL,
}
_HINTS: Mapping[str, str] = {
    "security.protocol": "this client speaks PLAINTEXT only; take the confluent backend for TLS or SASL",
    "compression.type": "this client sends records uncompressed",
    "acks": "this client waits for all replicas",
    TRANSPORT: "say direct, socket or auto",
}


def check(properties: Mapping[str, str]) -> None:
    """Raise ConfigError with every property that no client of this backend understands."""
    problems = _problems(properties, Client.ANY)
    servers = properties.get("bootstrap.servers", "")
    try:
        addresses(servers)
    except ValueError as why:
        said = f"Invalid value {servers} for configuration bootstrap.servers: {why}" if servers else _NO_SERVERS
        problems.append(Problem("", said))
    if problems:
        raise ConfigError(*problems)


_NO_SERVERS = 'Missing required configuration "bootstrap.servers"; say HOST:PORT of a broker'


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSettings:
    """What one client object acts on; durations in seconds."""

    servers: str
    transport: str
    client_id: str
    request_timeout: float
    api_timeout: float
    max_block: float
    max_request: int
    fetch_bytes: int
    partition_bytes: int
    fetch_wait: float

    @classmethod
    def of(cls, properties: Mapping[str, str], overrides: Mapping[str, str] | None, client: Client) -> Self:
        """Layer the backend's properties with those of one client; ConfigError for what this client cannot do."""
        if problems := _problems(overrides or {}, client):
            raise ConfigError(*problems)
        given = {**properties, **(overrides or {})}
        return cls(
            servers=given["bootstrap.servers"],
            transport=given.get(TRANSPORT, "auto"),
            client_id=given.get("client.id", "eosfw"),
            request_timeout=_seconds(given, "request.timeout.ms", 30.0),
            api_timeout=_seconds(given, "default.api.timeout.ms", 30.0),
            max_block=_seconds(given, "max.block.ms", 60.0),
            max_request=_number(given, "max.request.size", 1 << 20),
            fetch_bytes=_number(given, "fetch.max.bytes", 50 << 20),
            partition_bytes=_number(given, "max.partition.fetch.bytes", 4 << 20),
            fetch_wait=_seconds(given, "fetch.max.wait.ms", 0.5),
        )


def _seconds(properties: Mapping[str, str], name: str, default: float) -> float:
    found = _number(properties, name, FOREVER)
    return default if found >= FOREVER else found / 1000


def _number(properties: Mapping[str, str], name: str, default: int) -> int:
    text = properties.get(name, "").strip()
    try:
        return int(text) if text else default
    except ValueError:
        raise ConfigError(Problem("", f"Invalid value {text} for configuration {name}: Not a number")) from None


def _problems(properties: Mapping[str, str], client: Client) -> list[Problem]:
    found = [Problem("", _unknown(name, client)) for name in properties if not _KNOWN.get(name, Client(0)) & client]
    for name, allowed in _ALLOWED.items():
        text = properties.get(name)
        if text is not None and text.strip().lower() not in map(str.lower, allowed):
            found.append(Problem("", f"Invalid value {text} for configuration {name}: {_HINTS[name]}"))
    return found


def _unknown(name: str, client: Client) -> str:
    if name in _KNOWN:
        return f"{name} is no property of a Kafka {str(client.name).lower()} client"
    near = nearest(name, _KNOWN)
    hint = f"did you mean {near}?" if near else "remove it, or choose another backend"
    return f"the memory backend does not know {name}: {hint}"
