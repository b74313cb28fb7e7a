"""Serve a cluster for a test, or use the one that runs."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import cache

import pytest

from eosfw.concurrency import Runtime, ThreadRuntime
from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw.protocols import LocalCluster
from eosfw.test_support import ProducerLookup
from pytest_eos.installed_plugins import installed_plugins

_IN_PROCESS = {"listeners": "", "transaction.state.log.num.partitions": "1"}
"""A broker without a port; nobody shares its transaction log, so one partition of it will do."""


@cache
def runtime() -> Runtime:
    """Real threads, the real clock."""
    return ThreadRuntime()


@dataclass(frozen=True, slots=True)
class Cluster:
    """A running cluster; `local` is the one this process serves, if it does."""

    bootstrap_servers: str
    local: LocalCluster | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    """More client properties that lead there."""
    runtime: Runtime = field(default_factory=runtime)
    """The clock it lives by, with everybody who uses it."""

    @property
    def virtual(self) -> bool:
        """Whether it lives by a virtual clock, so that nobody outside this thread can reach it."""
        return not isinstance(self.runtime, ThreadRuntime)

    @property
    def client(self) -> dict[str, str]:
        """The properties by which a client reaches it."""
        return {"bootstrap.servers": self.bootstrap_servers, **self.properties}

    def producer_of(self, partition: TopicPartition, offset: int) -> ProducerIdAndEpoch | None:
        """Who wrote a record, if the cluster tells."""
        return self.local.producer_of(partition, offset) if isinstance(self.local, ProducerLookup) else None


@contextmanager
def virtual(seed: int | str | None) -> Iterator[Cluster]:
    """An embedded cluster in virtual time: no port, no thread; warns of what a test left running on it."""
    from pytest_eos.virtual import VirtualRuntime

    clock = VirtualRuntime(seed)
    local = installed_plugins().cluster("memory").start(_IN_PROCESS, clock)
    try:
        with closing(local):
            yield Cluster(local.bootstrap_servers, local, runtime=clock)
    finally:
        if left := clock.close():
            warnings.warn(pytest.PytestWarning(f"ended with the virtual clock: {', '.join(left)}"), stacklevel=1)


@contextmanager
def serving(bootstrap_servers: str | None) -> Iterator[Cluster]:
    """An embedded cluster of its own, unless an address is given."""
    if bootstrap_servers is not None:
        yield Cluster(bootstrap_servers)
        return
    local = installed_plugins().cluster("memory").start({}, runtime())
    try:
        yield Cluster(local.bootstrap_servers, local)
    finally:
        local.close()
