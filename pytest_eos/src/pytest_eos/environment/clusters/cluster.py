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
from eosfw.test_support import AuthorizedCluster, ProducerLookup, SecuredCluster
from pytest_eos.environment.config.installed_plugins import installed_plugins
from pytest_eos.environment.config.markers import NO_SECURITY, ClusterSpec

RECORDED = {"eosfw.record.coordinators": "true"}
"""What makes a broker keep what the history of a run has of it."""
IN_PROCESS = RECORDED | {
    "listeners": "",
    "transaction.state.log.num.partitions": "1",
    "log.message.timestamp.after.max.ms": str(2**63 - 1),
}
"""A broker without a port, in virtual time.

Few producers use it, so its transaction log needs one partition only. Its clock begins in 2000: the timestamps that
records bring from a source would lie too far ahead of it.
"""
_AUTHORIZER = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:eosfw",
}
"""What makes rights count; the user of the harness, whom `eosfw.tls.auto` makes, has all of them."""


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
    has_users: bool = False
    """Whether it was started with users who have rights."""

    @property
    def virtual(self) -> bool:
        """Whether it runs in virtual time; only the thread of the test can reach it then."""
        return not isinstance(self.runtime, ThreadRuntime)

    @property
    def client(self) -> dict[str, str]:
        """The properties of a client that connects to it."""
        return {"bootstrap.servers": self.bootstrap_servers, **self.properties}

    def client_of(self, user: str) -> dict[str, str]:
        """The properties of a client that connects as a user of `@pytest.mark.eos_cluster(rights=...)`."""
        return {"bootstrap.servers": self.bootstrap_servers, **self._authorized().client_properties_of(user)}

    def allow(self, user: str, *rights: str) -> None:
        """Give a user rights, such as `Write on topic orders`; they count on return."""
        self._authorized().allow(user, *rights)

    def revoke(self, user: str, *rights: str) -> None:
        """Take rights back, in the words in which they were given."""
        self._authorized().revoke(user, *rights)

    def _authorized(self) -> AuthorizedCluster:
        local: object = self.local
        if self.has_users and isinstance(local, AuthorizedCluster):
            return local
        pytest.fail("this cluster has no users with rights: say @pytest.mark.eos_cluster(rights={...})")

    def producer_of(self, partition: TopicPartition, offset: int) -> ProducerIdAndEpoch | None:
        """The producer id and epoch that wrote a record, if the cluster can look them up."""
        return self.local.producer_of(partition, offset) if isinstance(self.local, ProducerLookup) else None


@contextmanager
def virtual(seed: int | str | None) -> Iterator[Cluster]:
    """An embedded cluster in virtual time, without port and thread; warns of tasks that a test left running."""
    from pytest_eos.virtual import VirtualRuntime

    clock = VirtualRuntime(seed)
    local = installed_plugins().cluster("memory").start(IN_PROCESS, clock)
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
def serving(wanted: ClusterSpec = NO_SECURITY) -> Iterator[Cluster]:
    """A fresh embedded cluster, with a secured listener and with users who have rights if asked."""
    properties = {} if wanted.security is None else _secured(wanted.security)
    if wanted.rights is not None:
        properties |= {**_AUTHORIZER, "eosfw.tls.auto.users": ",".join(wanted.rights)}
    with closing(installed_plugins().cluster("memory").start({**RECORDED, **properties}, runtime())) as local:
        client = local.client_properties if isinstance(local, SecuredCluster) else {}
        cluster = Cluster(local.bootstrap_servers, local, client, has_users=wanted.rights is not None)
        for user, rights in (wanted.rights or {}).items():
            cluster.allow(user, *rights)
        yield cluster


def _secured(security: str) -> dict[str, str]:
    """The properties of an embedded cluster; a client shows a certificate where that is all that tells who it is."""
    client_auth = {"ssl.client.auth": "required"} if security == "ssl" else {}
    return {"listeners": f"{security.upper()}://127.0.0.1:0", "eosfw.tls.auto": "true", **client_auth}
