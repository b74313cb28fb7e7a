"""An admin client of the cluster that the command line names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from eosfw.errors import ConfigError, Problem

if TYPE_CHECKING:
    from eosfw.concurrency import Runtime
    from eosfw.pipeline import Pipeline
    from eosfw.protocols import Admin, Backend
    from eosfw.registry import Plugins

_SERVERS = "bootstrap.servers"


@dataclass(frozen=True, slots=True)
class ClusterTarget:
    """Which cluster the command line names, and which client for it."""

    pipeline: Annotated[
        Path | None, typer.Option("--pipeline", metavar="FILE", help="Take the cluster of a pipeline file.")
    ] = None
    servers: Annotated[str | None, typer.Option("--bootstrap-servers", metavar="HOST:PORT", help="The cluster.")] = None
    backend: Annotated[
        str | None, typer.Option("--backend", help="The client to use; by default one that can do this.")
    ] = None


@dataclass(frozen=True, slots=True)
class Session:
    """A connected client with its admin; `pipeline` is the file that names the cluster, if one does."""

    admin: Admin
    backend: Backend
    plugins: Plugins
    runtime: Runtime
    pipeline: Pipeline | None = None

    def can(self, capability: str) -> bool:
        """Whether this client has a capability."""
        return not self.backend.capabilities.lacking(capability)


@contextmanager
def open_session(target: ClusterTarget, *needed: str) -> Iterator[Session]:
    """An admin client with these capabilities; ConfigError, or ClusterUnavailableError within moments."""
    from eosfw.concurrency import ThreadRuntime
    from eosfw.pipeline.definition.connectivity import require_reachable
    from eosfw.registry import load_plugins
    from eosfw.registry.config_transformer import transform_by

    pipeline, written = _cluster(target)
    plugins, runtime = load_plugins(), ThreadRuntime()
    properties = transform_by(plugins, {} if pipeline is None else pipeline.worker, written).values
    preferred = None if pipeline is None else pipeline.cluster.backend
    kind = _choose_backend(plugins, target.backend, preferred, needed)
    require_reachable(properties, runtime)
    with closing(kind.connect(properties, runtime)) as backend, closing(backend.admin()) as admin:
        yield Session(admin, backend, plugins, runtime, pipeline)


def _cluster(target: ClusterTarget) -> tuple[Pipeline | None, Mapping[str, str]]:
    """The pipeline file, if one is named, and the properties that lead to the cluster."""
    from eosfw.pipeline.definition.connectivity import require_addresses

    given = {} if target.servers is None else {_SERVERS: target.servers}
    if target.servers is not None:
        require_addresses("--bootstrap-servers", target.servers)
    if target.pipeline is None:
        if _SERVERS not in given:
            raise ConfigError(Problem("", "say which cluster: --bootstrap-servers HOST:PORT, or --pipeline FILE"))
        return None, given
    from eosfw.pipeline.definition.parsing import load_with_problems

    pipeline = load_with_problems(target.pipeline)
    properties = {**pipeline.cluster.properties, **given}
    if _SERVERS not in properties:
        why = "its embedded cluster lives only while it runs; name one with --bootstrap-servers"
        raise ConfigError(Problem(str(target.pipeline), why))
    require_addresses(f"{target.pipeline}: {_SERVERS}", properties[_SERVERS])
    return pipeline, properties


def _choose_backend(plugins: Plugins, asked: str | None, preferred: str | None, needed: Sequence[str]) -> type[Backend]:
    """The client that was asked for, else the pipeline's if it has what is needed, else the first that has."""
    able = [name for name in plugins.names("backend") if not plugins.backend(name).capabilities.lacking(*needed)]
    if asked is not None:
        kind = plugins.backend(asked)
        if lacking := kind.capabilities.lacking(*needed):
            alternatives = ", ".join(able) or "none that is installed"
            what = (
                f"backend {asked!r} lacks {', '.join(lacking)}; those that can reach the same cluster: {alternatives}"
            )
            raise ConfigError(Problem("--backend", what))
        return kind
    if not able:
        raise ConfigError(Problem("", f"no backend that is installed has {', '.join(needed)}; try: eosfw plugins"))
    return plugins.backend(preferred if preferred in able else able[0])
