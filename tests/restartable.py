"""Brokers that a test can start anew: same directory, same address."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from eosfw.concurrency import Runtime
from eosfw_memory.cluster import EmbeddedCluster
from ports import free_port

SOON = {"broker.session.timeout.ms": "2000", "broker.heartbeat.interval.ms": "500"}
"""Else Kafka waits longer for the node that was killed before it lets the new one in its place."""


class Broker(Protocol):
    """One broker that can be started anew."""

    bootstrap_servers: str

    def restart(self) -> None: ...

    def stop(self) -> None: ...


class Embedded:
    """The embedded broker on a directory."""

    def __init__(self, folder: Path, runtime: Runtime, properties: Mapping[str, str] | None = None) -> None:
        own = {"log.dirs": str(folder), "listeners": f"PLAINTEXT://127.0.0.1:{free_port()}"}
        self._properties = {**own, **(properties or {})}
        self._runtime = runtime
        self._cluster = EmbeddedCluster.start(self._properties, runtime)
        self.bootstrap_servers = self._cluster.bootstrap_servers

    def restart(self) -> None:
        self.stop()
        self._cluster = EmbeddedCluster.start(self._properties, self._runtime)

    def stop(self) -> None:
        self._cluster.close()
