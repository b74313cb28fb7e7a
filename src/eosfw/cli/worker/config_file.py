"""The file of a worker's properties: Kafka Connect's `.properties`, or TOML."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from eosfw.config.named_file import read_text, unreadable
from eosfw.config.properties_file import parse_properties
from eosfw.errors import ConfigError, Problem

logger = logging.getLogger(__name__)

_SERVERS = "bootstrap.servers"
_BACKEND = "backend"
_CLIENT_NAMES = (_SERVERS, "security.protocol", "client.dns.lookup", "request.timeout.ms", "connections.max.idle.ms")
_CLIENT_PREFIXES = ("sasl.", "ssl.")
"""Properties that Kafka Connect's worker files give to every client of the worker."""
_SECTIONS = ("cluster", "worker")
_JAVA_ONLY = ("plugin.path", "plugin.discovery")
"""Where Java looks for classes: in every worker file of Kafka Connect, and without a meaning here."""


@dataclass(frozen=True, slots=True)
class WorkerFile:
    """What the file says."""

    where: str
    worker: Mapping[str, str]
    client: Mapping[str, str]
    """Properties of every client, `bootstrap.servers` among them."""
    backend: str | None
    """The client's name; None if the file names none."""


def read_worker_file(path: Path) -> WorkerFile:
    """Read a file by its suffix; ConfigError with everything that is wrong with how it is written."""
    found = _from_toml(path) if path.suffix == ".toml" else _from_properties(path)
    if _SERVERS not in found.client:
        why = f"name the cluster that all workers of the group reach: {_SERVERS}=HOST:PORT"
        raise ConfigError(Problem(found.where, why))
    return found


def _from_properties(path: Path) -> WorkerFile:
    try:
        properties = parse_properties(read_text(path))
    except FileNotFoundError:
        raise ConfigError(Problem(str(path), "there is no such file")) from None
    except (OSError, UnicodeDecodeError) as why:
        raise ConfigError(Problem(str(path), unreadable(why))) from None
    except ValueError as why:
        raise ConfigError(Problem(str(path), f"cannot be read: {why}")) from None
    client = {name: text for name, text in properties.items() if _is_for_clients(name)}
    backend = properties.pop(_BACKEND, None)
    for name in _JAVA_ONLY:
        if properties.pop(name, None) is not None:
            logger.warning("%s: %s is for Java and ignored; plugins are installed distributions", path.name, name)
    worker = {name: text for name, text in properties.items() if name not in client}
    return WorkerFile(path.name, worker, client, backend)


def _from_toml(path: Path) -> WorkerFile:
    from eosfw.pipeline.definition.toml_file import flat_properties, read_toml

    document, problems = read_toml(path), list[Problem]()
    problems += [
        Problem(path.name, f"unknown section {name!r}; a worker's file has [cluster] and [worker]")
        for name in document
        if name not in _SECTIONS
    ]
    tables = {name: document.get(name, {}) for name in _SECTIONS}
    problems += [
        Problem(path.name, f"{name!r} must be a table: [{name}]") for name in tables if not _is_table(tables[name])
    ]
    cluster, worker = (
        flat_properties(table if _is_table(table) else {}, f"{path.name} [{name}]", problems)
        for name, table in tables.items()
    )
    if problems:
        raise ConfigError(*problems)
    backend = cluster.pop(_BACKEND, None)
    if _SERVERS in worker:
        cluster.setdefault(_SERVERS, worker.pop(_SERVERS))
    return WorkerFile(f"{path.name} [worker]", worker, cluster, backend)


def _is_table(value: object) -> bool:
    return isinstance(value, Mapping)


def _is_for_clients(name: str) -> bool:
    return name in _CLIENT_NAMES or name.startswith(_CLIENT_PREFIXES)
