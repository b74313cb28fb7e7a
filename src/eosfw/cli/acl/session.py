"""A client of the cluster that files name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager

from eosfw.cli.acl.group_files import DescribedGroup
from eosfw.concurrency import ThreadRuntime
from eosfw.errors import ConfigError, Problem
from eosfw.pipeline.definition.connectivity import require_reachable
from eosfw.protocols import Backend
from eosfw.registry import load_plugins
from eosfw.registry.config_transformer import transform_by


@contextmanager
def connected(described: DescribedGroup, backend: str | None, *needed: str) -> Iterator[Backend]:
    """Connect with the backend that is asked for, else that of the files, else the first with these capabilities."""
    if "bootstrap.servers" not in described.cluster:
        raise ConfigError(Problem("", "the files name no cluster: add bootstrap.servers"))
    plugins, runtime = load_plugins(), ThreadRuntime()
    wanted = backend or described.backend
    able = [name for name in plugins.names("backend") if not plugins.backend(name).capabilities.lacking(*needed)]
    if wanted is None and not able:
        raise ConfigError(Problem("", f"no backend that is installed has {', '.join(needed)}; try: eosfw plugins"))
    properties = transform_by(plugins, described.worker.given, described.cluster).values
    require_reachable(properties, runtime)
    with closing(plugins.backend(wanted or able[0]).connect(properties, runtime)) as client:
        yield client
