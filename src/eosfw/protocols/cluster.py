"""The contract of a cluster that this machine serves for itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Protocol, Self, runtime_checkable

from eosfw.concurrency import Runtime
from eosfw.protocols.client import (
    OpenTransaction,
)


@runtime_checkable
class LocalCluster(Protocol):
    """A cluster this machine can serve for itself, reachable by any Kafka client at `bootstrap_servers`.

    `listens_on` is the HOST:PORT of its socket: another one where clients are told an advertised address.
    """

    name: ClassVar[str]
    bootstrap_servers: str
    listens_on: str

    @classmethod
    def start(cls, properties: Mapping[str, str], runtime: Runtime) -> Self:
        """Serve a fresh cluster and return once its port is open. `listeners` defaults to a free loopback port."""

    def open_transactions(self) -> Sequence[OpenTransaction]:
        """Every transaction that is open now."""

    def close(self) -> None:
        """Stop serving: no port, thread or process remains."""
