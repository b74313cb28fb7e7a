"""Serve a cluster for a test, or use the one that runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw.protocols import LocalCluster
from eosfw.waiting import Runtime, ThreadRuntime
from pytest_eos.installed import installed


@dataclass(frozen=True, slots=True)
class Cluster:
    """A running cluster; `local` is the one this process serves, if it does."""

    bootstrap_servers: str
    local: LocalCluster | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    """More client properties that lead there."""

    @property
    def client(self) -> dict[str, str]:
        """The properties by which a client reaches it."""
        return {"bootstrap.servers": self.bootstrap_servers, **self.properties}

    def producer_of(self, partition: TopicPartition, offset: int) -> ProducerIdAndEpoch | None:
        """Who wrote a record, if the cluster tells."""
        tells: Any = getattr(self.local, "producer_of", None)
        found: ProducerIdAndEpoch | None = tells(partition, offset) if tells is not None else None
        return found


@cache
def runtime() -> Runtime:
    """Real threads, the real clock."""
    return ThreadRuntime()


@contextmanager
def serving(bootstrap_servers: str | None) -> Iterator[Cluster]:
    """An embedded cluster of its own, unless an address is given."""
    if bootstrap_servers is not None:
        yield Cluster(bootstrap_servers)
        return
    local = installed().cluster("memory").start({}, runtime())
    try:
        yield Cluster(local.bootstrap_servers, local)
    finally:
        local.close()
