"""A worker group and one of its connectors, as files describe them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated

import typer

from eosfw.config import Config
from eosfw.config.worker import WORKER
from eosfw.errors import ConfigError, Problem


@dataclass(frozen=True, slots=True)
class GroupFiles:
    """Which files describe the group and its connector."""

    config: Annotated[Path, typer.Option("--config", metavar="FILE", help="A pipeline file, or that of a worker.")]
    connector_file: Annotated[
        str | None,
        typer.Option("--connector-file", metavar="FILE", help="The connector as JSON, if the file above lacks it."),
    ] = None


@dataclass(frozen=True, slots=True)
class DescribedGroup:
    """What the files say."""

    worker: Config
    cluster: Mapping[str, str]
    """Client properties that lead to the cluster."""
    backend: str | None = None
    connectors: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def connector(self, name: str) -> Config:
        """A connector by the framework's definition; ConfigError if the files have none of that name."""
        from eosfw.runtime.checks.preflight import framework_config

        if name not in self.connectors:
            known = ", ".join(sorted(self.connectors)) or "none"
            raise ConfigError(Problem("", f"there is no connector {name!r} in these files; there are: {known}"))
        return framework_config({"name": name, "connector.class": "", **self.connectors[name]})


def read_group(files: GroupFiles) -> DescribedGroup:
    """Read the files; ConfigError says what is wrong with them."""
    described = _pipeline(files.config) if files.config.suffix == ".toml" else None
    described = described or _worker(files.config)
    if files.connector_file is None:
        return described
    from eosfw.cli.connectors.json_files import read_connector

    name, given = read_connector(files.connector_file)
    texts = {key: str(value) for key, value in given.items()}
    return replace(described, connectors={**described.connectors, name: texts})


def _pipeline(file: Path) -> DescribedGroup | None:
    """What a pipeline file says; None for a worker's own file, which has no connectors and other defaults."""
    from eosfw.pipeline import load
    from eosfw.registry import load_plugins
    from eosfw.registry.config_transformer import with_override_policy

    pipeline = load(file)
    if not pipeline.connectors:
        return None
    worker = WORKER.parse(pipeline.worker, f"{file.name} [worker]")
    worker = with_override_policy(load_plugins(), worker, f"{file.name} [worker]")
    return DescribedGroup(worker, pipeline.cluster.properties, pipeline.cluster.backend, pipeline.connectors)


def _worker(file: Path) -> DescribedGroup:
    from eosfw.cli.worker.config_file import read_worker_file
    from eosfw.registry import load_plugins
    from eosfw.runtime.distributed.herder_parts import worker_config

    read = read_worker_file(file)
    plugins = load_plugins()
    worker = worker_config(read.worker, plugins.rest_server(), read.where, plugins)
    return DescribedGroup(worker, read.client, read.backend)
