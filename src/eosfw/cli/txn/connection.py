"""Choose a client that can administer transactions, connect it to the cluster that was named."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from eosfw.errors import ConfigError, Problem

if TYPE_CHECKING:
    from eosfw.concurrency import Runtime
    from eosfw.protocols import Admin, Backend
    from eosfw.registry import Plugins

_SERVERS = "bootstrap.servers"


@dataclass(frozen=True, slots=True)
class ClusterTarget:
    """Which cluster, and how to reach it, as the command line says."""

    pipeline: Path | None = None
    servers: str | None = None
    backend: str | None = None


@dataclass(frozen=True, slots=True)
class Session:
    """An admin client, the client library it belongs to, what they wait by."""

    admin: Admin
    backend: type[Backend]
    runtime: Runtime

    def can(self, capability: str) -> bool:
        """Whether this client has a capability."""
        return not self.backend.capabilities.lacking(capability)


@contextmanager
def open_session(target: ClusterTarget, *needed: str) -> Iterator[Session]:
    """An admin client with these capabilities; ConfigError, or ClusterUnavailableError within moments."""
    from eosfw.concurrency import ThreadRuntime
    from eosfw.pipeline.connectivity import require_reachable
    from eosfw.registry import load_plugins

    named, properties = _cluster(target)
    kind = _chosen(load_plugins(), target.backend, named, needed)
    runtime = ThreadRuntime()
    require_reachable(properties, runtime)
    with closing(kind.connect(properties, runtime)) as backend, closing(backend.admin()) as admin:
        yield Session(admin, kind, runtime)


def _cluster(target: ClusterTarget) -> tuple[str | None, Mapping[str, str]]:
    """The client a pipeline file names, if any, and the properties that lead to the cluster."""
    from eosfw.pipeline.connectivity import require_addresses

    given = {} if target.servers is None else {_SERVERS: target.servers}
    if target.servers is not None:
        require_addresses("--bootstrap-servers", target.servers)
    if target.pipeline is None:
        if _SERVERS not in given:
            raise ConfigError(Problem("", "say which cluster: --bootstrap-servers HOST:PORT, or --pipeline FILE"))
        return None, given
    from eosfw.pipeline.parsing import load_with_problems

    cluster = load_with_problems(target.pipeline).cluster
    properties = {**cluster.properties, **given}
    if _SERVERS not in properties:
        why = "its embedded cluster lives only while it runs; name one with --bootstrap-servers"
        raise ConfigError(Problem(str(target.pipeline), why))
    require_addresses(f"{target.pipeline}: {_SERVERS}", properties[_SERVERS])
    return cluster.backend, properties


def _chosen(plugins: Plugins, asked: str | None, named: str | None, needed: Sequence[str]) -> type[Backend]:
    """The client that was asked for, else the pipeline's if it can do this, else the first that can."""
    able = [name for name in plugins.names("backend") if not plugins.backend(name).capabilities.lacking(*needed)]
    if asked is not None:
        kind = plugins.backend(asked)
        if lacking := kind.capabilities.lacking(*needed):
            others = ", ".join(able) or "none that is installed"
            what = f"backend {asked!r} lacks {', '.join(lacking)}; those that can reach the same cluster: {others}"
            raise ConfigError(Problem("--backend", what))
        return kind
    if not able:
        raise ConfigError(Problem("", f"no backend that is installed has {', '.join(needed)}; try: eosfw plugins"))
    return plugins.backend(named if named in able else able[0])
