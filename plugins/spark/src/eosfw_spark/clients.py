"""Clients of the cluster that are made in the processes of Spark, driver or executor; nothing of them is pickled."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache

from eosfw.concurrency import ThreadRuntime
from eosfw.config.parts import PartChoice
from eosfw.protocols import Backend, IsolationReader
from eosfw.registry import Plugins, load_plugins, parts


@cache
def plugins() -> Plugins:
    """The installed plugins, loaded once per process: that takes as long as connecting."""
    return load_plugins()


@contextmanager
def open_backend(name: str, properties: Mapping[str, str]) -> Iterator[Backend]:
    """Connect to the cluster from this process."""
    backend = plugins().backend(name).connect(properties, ThreadRuntime())
    try:
        yield backend
    finally:
        backend.close()


@contextmanager
def open_reader(
    name: str, properties: Mapping[str, str], choice: PartChoice, *, headers: bool
) -> Iterator[IsolationReader]:
    """Open an isolation reader of the cluster in this process."""
    with open_backend(name, properties) as backend, open_isolation_reader(backend, choice, headers=headers) as reader:
        yield reader


@contextmanager
def open_isolation_reader(backend: Backend, choice: PartChoice, *, headers: bool) -> Iterator[IsolationReader]:
    """Open an isolation reader over a backend."""
    reader = parts.isolation_reader(plugins(), choice, backend, ThreadRuntime(), headers=headers)
    try:
        yield reader
    finally:
        reader.close()
