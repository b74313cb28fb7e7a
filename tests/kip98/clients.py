"""List the ways to a cluster on which every guarantee must hold: a further backend is a further line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pytest

from eosfw.concurrency import Runtime
from eosfw.protocols import Backend
from pytest_eos.environment.config.installed_plugins import installed_plugins


@dataclass(frozen=True, slots=True)
class ClientOnCluster:
    """A backend, the fixture that has the address of the cluster, more properties of the client."""

    backend: str
    cluster: str
    properties: Mapping[str, str] = field(default_factory=dict)

    def connect(self, address: str, runtime: Runtime) -> Backend:
        """A client of the cluster."""
        return (
            installed_plugins()
            .backend(self.backend)
            .connect({"bootstrap.servers": address, **self.properties}, runtime)
        )

    def hasty(self, bound: float) -> ClientOnCluster:
        """The same with a client that does not wait for an answer much longer than a caller who waits `bound` s."""
        waits = {"confluent": {"request.timeout.ms": "5000"}}.get(self.backend, {})
        return replace(self, properties={**self.properties, **waits, "max.block.ms": str(round(bound * 1000))})

    def sending(self, request: str) -> ClientOnCluster:
        """The cluster with a client that uses these requests.

        In version 2 of transactions batches and offsets add partitions and groups by themselves (KIP-890).
        """
        adds = self.backend == "memory" and request in ("AddPartitionsToTxn", "AddOffsetsToTxn")
        return replace(self, properties={**self.properties, "eosfw.transaction.version": "1"}) if adds else self

    def __str__(self) -> str:
        return "-".join((self.backend, self.cluster, *self.properties.values()))


WAYS = (
    ClientOnCluster("confluent", "embedded"),
    ClientOnCluster("confluent", "real_kafka"),
    ClientOnCluster("kafka-python", "embedded"),
    ClientOnCluster("kafka-python", "real_kafka"),
    ClientOnCluster("memory", "embedded", {"eosfw.transport": "direct"}),
    ClientOnCluster("memory", "embedded", {"eosfw.transport": "socket"}),
    ClientOnCluster("memory", "real_kafka"),
)
BACKENDS = sorted({way.backend for way in WAYS})
PARAMS = [pytest.param(way, id=str(way), marks=[pytest.mark.kafka] * (way.cluster == "real_kafka")) for way in WAYS]
EMBEDDED = [pytest.param(way, id=str(way)) for way in WAYS if way.cluster == "embedded"]
OVER_SOCKETS = [way for way in EMBEDDED if way.id != "memory-embedded-direct"]
"""For what a broker answers: what comes of an answer is the same code of the memory client either way."""
