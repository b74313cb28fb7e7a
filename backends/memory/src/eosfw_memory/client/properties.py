"""Validate Kafka's client properties, and give those that this client uses their types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

from eosfw.config.security import SECURITY_NAMES, SecuritySettings, canonical, layered, security_settings
from eosfw.config.translation import NO_SERVERS, Client, number, problems, refusals, seconds
from eosfw.errors import ConfigError, Problem
from eosfw.security import require_usable_files
from eosfw_memory.client.transport.sockets import addresses

TRANSPORT = "eosfw.transport"
TRANSACTION_VERSION = "eosfw.transaction.version"
_ALL = ("all", "-1")
_MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
_KNOWN: Mapping[str, Client] = {
    **dict.fromkeys(("bootstrap.servers", "client.id", "request.timeout.ms", "default.api.timeout.ms"), Client.ANY),
    **dict.fromkeys(("metadata.max.age.ms", TRANSPORT, *SECURITY_NAMES), Client.ANY),
    # Accepted without effect: the deadline of each call bounds its connections, retries and look-ups.
    **dict.fromkeys(("client.rack", "client.dns.lookup", "retries"), Client.ANY),
    **dict.fromkeys(("reconnect.backoff.ms", "reconnect.backoff.max.ms", "retry.backoff.ms"), Client.ANY),
    **dict.fromkeys(("retry.backoff.max.ms", "connections.max.idle.ms", "enable.metrics.push"), Client.ANY),
    **dict.fromkeys(("send.buffer.bytes", "receive.buffer.bytes"), Client.ANY),
    **dict.fromkeys(("socket.connection.setup.timeout.ms",), Client.ANY),
    **dict.fromkeys(("acks", "enable.idempotence", "compression.type", "max.request.size"), Client.PRODUCER),
    **dict.fromkeys(("max.block.ms", "transaction.timeout.ms", "transactional.id", "buffer.memory"), Client.PRODUCER),
    # Accepted without effect: one request is in flight at a time, and a batch has what was sent since the last one.
    **dict.fromkeys(("linger.ms", "batch.size", "delivery.timeout.ms"), Client.PRODUCER),
    **dict.fromkeys(("max.in.flight.requests.per.connection",), Client.PRODUCER),
    **dict.fromkeys((TRANSACTION_VERSION,), Client.ANY),
    **dict.fromkeys(("fetch.max.bytes", "max.partition.fetch.bytes", "fetch.max.wait.ms"), Client.CONSUMER),
    # Accepted without effect: `group_consumer` has them as arguments, but for its heartbeats, or the reader decides.
    **dict.fromkeys(("fetch.min.bytes", "check.crcs", "group.id", "group.instance.id"), Client.CONSUMER),
    **dict.fromkeys(("session.timeout.ms", "heartbeat.interval.ms", "max.poll.interval.ms"), Client.CONSUMER),
    **dict.fromkeys(("max.poll.records", "auto.offset.reset", "enable.auto.commit"), Client.CONSUMER),
    **dict.fromkeys(("auto.commit.interval.ms", "isolation.level", "allow.auto.create.topics"), Client.CONSUMER),
}
_ALLOWED: Mapping[str, tuple[str, ...]] = {
    TRANSPORT: ("auto", "direct", "socket"),
    TRANSACTION_VERSION: ("auto", "1", "2"),
    "compression.type": ("none",),
    "acks": (*_ALL, "0", "1"),
    "enable.idempotence": ("true", "false"),
}
_VERSIONS: Mapping[str, int | None] = {"auto": None, "1": 1, "2": 2}
_HINTS: Mapping[str, str] = {
    "compression.type": "this client sends records uncompressed",
    "acks": "say all, -1, 0 or 1",
    "enable.idempotence": "say true or false",
    TRANSPORT: "say direct, socket or auto",
    TRANSACTION_VERSION: "say auto, 1 or 2",
}


def check(properties: Mapping[str, str]) -> None:
    """Raise ConfigError with every property that no client of this backend understands."""
    found = _problems(properties, Client.ANY)
    servers = str(properties.get("bootstrap.servers", ""))
    try:
        addresses(servers)
    except ValueError as why:
        said = f"Invalid value {servers} for configuration bootstrap.servers: {why}" if servers else NO_SERVERS
        found.append(Problem("", said))
    if found:
        raise ConfigError(*found)
    require_usable_files(ClientSettings.of(properties, None, Client.ANY).security)


def problems_of(properties: Mapping[str, str], client: Client) -> list[Problem]:
    """The names and values that one kind of client refuses, each with its name."""
    security = {name: text for name, text in properties.items() if name in SECURITY_NAMES}
    others = {name: text for name, text in properties.items() if name not in security}
    anywhere = {"bootstrap.servers": ""}
    # What security properties mean together shows only with those of the other layers.
    return refusals(security, canonical) + refusals(others, lambda one: ClientSettings.of(anywhere, one, client))


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSettings:
    """The typed properties of one client object; durations in seconds."""

    servers: str
    transport: str
    client_id: str
    request_timeout: float
    api_timeout: float
    metadata_age: float
    max_block: float
    max_request: int
    buffer: int
    fetch_bytes: int
    partition_bytes: int
    fetch_wait: float
    acks: int
    transaction_version: int | None
    security: SecuritySettings
    given: Mapping[str, str] = field(repr=False)
    """The properties as they were given, those of security by one name each."""

    @classmethod
    def of(cls, properties: Mapping[str, str], overrides: Mapping[str, str] | None, client: Client) -> Self:
        """The backend's properties, overridden by those of one client; raise ConfigError for what it cannot do."""
        if found := _problems(overrides or {}, client):
            raise ConfigError(*found)
        given = layered(properties, overrides or {})
        return cls(
            servers=given["bootstrap.servers"],
            transport=given.get(TRANSPORT, "auto"),
            client_id=given.get("client.id", "eosfw"),
            request_timeout=seconds(given, "request.timeout.ms", 30.0),
            api_timeout=seconds(given, "default.api.timeout.ms", 30.0),
            metadata_age=seconds(given, "metadata.max.age.ms", 300.0),
            max_block=seconds(given, "max.block.ms", 60.0),
            max_request=number(given, "max.request.size", 1 << 20),
            buffer=number(given, "buffer.memory", 32 << 20),
            fetch_bytes=number(given, "fetch.max.bytes", 50 << 20),
            partition_bytes=number(given, "max.partition.fetch.bytes", 4 << 20),
            fetch_wait=seconds(given, "fetch.max.wait.ms", 0.5),
            # With acks=0 a broker does not answer, so this client could not report a refusal: it sends acks=1 instead.
            acks=-1 if given.get("acks", "all").strip().lower() in _ALL else 1,
            transaction_version=_VERSIONS[given.get(TRANSACTION_VERSION, "auto").strip().lower()],
            security=_security(given),
            given=given,
        )


def _security(given: Mapping[str, str]) -> SecuritySettings:
    settings = security_settings(given)
    if settings.protocol.sasl and settings.mechanism not in _MECHANISMS:
        known, mechanism = ", ".join(_MECHANISMS), settings.mechanism
        if mechanism:
            what = f"sasl.mechanism: this client speaks {known}; take the confluent backend for {mechanism}"
        else:
            what = f"set sasl.mechanism to one of {known}; for GSSAPI, Kafka's default, take the confluent backend"
        raise ConfigError(Problem("", what))
    return settings


def _problems(properties: Mapping[str, str], client: Client) -> list[Problem]:
    found = problems(properties, client, _KNOWN, "the memory backend does not know")
    for name, allowed in _ALLOWED.items():
        text = properties.get(name)
        if isinstance(text, str) and text.strip().lower() not in map(str.lower, allowed):
            found.append(Problem("", f"Invalid value {text} for configuration {name}: {_HINTS[name]}"))
    return found
