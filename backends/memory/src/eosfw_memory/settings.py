"""Define the properties of a broker, by Kafka's names with Kafka's defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from eosfw.config.definition import Boolean, ConfigDef, Int, String
from eosfw.errors import ConfigError, Problem
from eosfw_memory.coordinators.transactions import MAX_TIMEOUT_MS

BROKER = ConfigDef(
    String("listeners", default="PLAINTEXT://127.0.0.1:0", may_be_empty=True,
        doc="where to listen; port 0 takes a free one; empty: nowhere, only this process calls it"),
    String("advertised.listeners", default=None, doc="where clients are told to connect; default: listeners"),
    Int("num.partitions", default=1, at_least=1, doc="partitions of a topic created without saying how many"),
    Boolean("auto.create.topics.enable", default=True, doc="create a topic that a client asks about"),
    Int("transaction.max.timeout.ms", default=MAX_TIMEOUT_MS, at_least=1, doc="longest transaction.timeout.ms"),
    Int("transaction.abort.timed.out.transaction.cleanup.interval.ms", default=10_000, at_least=1,
        doc="how often transactions open beyond their timeout are looked for"),
    Int("transaction.state.log.num.partitions", default=50, at_least=1, doc="partitions of the transaction log"),
    Int("socket.request.max.bytes", default=104_857_600, at_least=1, doc="largest request"),
)  # fmt: skip
"""Everything `start` of the embedded cluster accepts."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A host with a port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """A broker's properties, typed."""

    listener: Endpoint | None
    """None for a broker without a port."""
    advertised: Endpoint | None
    num_partitions: int
    auto_create_topics: bool
    transaction_max_timeout_ms: int
    sweep_interval_ms: int
    transaction_log_partitions: int
    request_max_bytes: int

    @classmethod
    def parse(cls, properties: Mapping[str, str]) -> Self:
        """Read Kafka's names; raise ConfigError with every problem."""
        config = BROKER.parse(properties, "embedded broker")
        listeners, advertised = config["listeners"], config["advertised.listeners"]
        return cls(
            listener=_endpoint("listeners", listeners) if listeners.strip() else None,
            advertised=None if advertised is None else _endpoint("advertised.listeners", advertised),
            num_partitions=config["num.partitions"],
            auto_create_topics=config["auto.create.topics.enable"],
            transaction_max_timeout_ms=config["transaction.max.timeout.ms"],
            sweep_interval_ms=config["transaction.abort.timed.out.transaction.cleanup.interval.ms"],
            transaction_log_partitions=config["transaction.state.log.num.partitions"],
            request_max_bytes=config["socket.request.max.bytes"],
        )

    def described(self) -> dict[str, str]:
        """The properties in force, by Kafka's names, as DescribeConfigs shows them."""
        return {
            "num.partitions": str(self.num_partitions),
            "auto.create.topics.enable": str(self.auto_create_topics).lower(),
            "transaction.max.timeout.ms": str(self.transaction_max_timeout_ms),
            "transaction.abort.timed.out.transaction.cleanup.interval.ms": str(self.sweep_interval_ms),
            "transaction.state.log.num.partitions": str(self.transaction_log_partitions),
            "socket.request.max.bytes": str(self.request_max_bytes),
        }


def _endpoint(key: str, text: str) -> Endpoint:
    """Read `HOST:PORT`, with or without `PLAINTEXT://` before it."""
    scheme, separator, rest = text.strip().rpartition("://")
    host, colon, port = rest.rpartition(":")
    if separator and scheme.upper() != "PLAINTEXT":
        raise ConfigError(Problem(key, f"{text!r}: only PLAINTEXT:// is served"))
    if not colon or not port.isdecimal() or int(port) > 65535:
        raise ConfigError(Problem(key, f"{text!r} is not HOST:PORT with a port from 0 to 65535"))
    return Endpoint(host.strip("[]"), int(port))
