"""The cluster of a test: embedded, or a running one."""

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
from eosfw.test_support import ProducerLookup, SecuredCluster
from pytest_eos.environment.config.installed_plugins import installed_plugins

_IN_PROCESS = {"listeners": "", "transaction.state.log.num.partitions": "1"}
"""A broker without a port. Few producers use it, so its transaction log needs one partition only."""


@cache
def runtime() -> Runtime:
    """The runtime with real threads and the real clock."""
    return ThreadRuntime()


@dataclass(frozen=True, slots=True)
class Cluster:
    """A running cluster; `local` is the embedded one if this process serves it."""

    bootstrap_servers: str
    local: LocalCluster | None = None
    properties: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Further client properties that are needed to connect."""
    runtime: Runtime = field(default_factory=runtime)
    """The clock of the cluster and of all of its clients."""

    @property
    def virtual(self) -> bool:
        """Whether it runs in virtual time; only the thread of the test can reach it then."""
        return not isinstance(self.runtime, ThreadRuntime)

    @property
    def client(self) -> dict[str, str]:
        """The properties of a client that connects to it."""
        return {"bootstrap.servers": self.bootstrap_servers, **self.properties}

    def producer_of(self, partition: TopicPartition, offset: int) -> ProducerIdAndEpoch | None:
        """The producer id and epoch that wrote a record, if the cluster can look them up."""
        return self.local.producer_of(partition, offset) if isinstance(self.local, ProducerLookup) else None


@contextmanager
def virtual(seed: int | str | None) -> Iterator[Cluster]:
    """An embedded cluster in virtual time, without port and thread; warns of tasks that a test left running."""
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
def running(bootstrap_servers: str, client: Mapping[str, str]) -> Iterator[Cluster]:
    """The cluster at an address, with what its clients need beside."""
    yield Cluster(bootstrap_servers, properties=client)


@contextmanager
def serving(security: str | None = None) -> Iterator[Cluster]:
    """A fresh embedded cluster, with a secured listener if asked."""
    properties = {} if security is None else _secured(security)
    with closing(installed_plugins().cluster("memory").start(properties, runtime())) as local:
        client = local.client_properties if isinstance(local, SecuredCluster) else {}
        yield Cluster(local.bootstrap_servers, local, client)


def _secured(security: str) -> dict[str, str]:
    """The properties of an embedded cluster; a client shows a certificate where that is all that tells who it is."""
    client_auth = {"ssl.client.auth": "required"} if security == "ssl" else {}
    return {"listeners": f"{security.upper()}://127.0.0.1:0", "eosfw.tls.auto": "true", **client_auth}
