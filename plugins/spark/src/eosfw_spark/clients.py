"""Clients of the cluster that are made in the processes of Spark, driver or executor; nothing of them is pickled."""

from __future__ import annotations

import atexit
import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import Final, NamedTuple

from eosfw.config.parts import PartChoice
from eosfw.protocols import Backend, IsolationReader
from eosfw.registry import Plugins, load_plugins, parts
from eosfw_spark.python_process import PROCESS


@cache
def plugins() -> Plugins:
    """The installed plugins, loaded once per process: that takes as long as connecting."""
    return load_plugins()


@contextmanager
def open_backend(name: str, properties: Mapping[str, str]) -> Iterator[Backend]:
    """Connect to the cluster from this process."""
    backend = plugins().backend(name).connect(properties, PROCESS.runtime())
    try:
        yield backend
    finally:
        backend.close()


@contextmanager
def open_isolation_reader(backend: Backend, choice: PartChoice, *, headers: bool) -> Iterator[IsolationReader]:
    """Open an isolation reader over a backend."""
    reader = parts.isolation_reader(plugins(), choice, backend, PROCESS.runtime(), headers=headers)
    try:
        yield reader
    finally:
        reader.close()


# --- clients that a worker keeps between its tasks

KEPT: Final = 4
"""Pairs of clients that a process keeps; Spark ends a worker that is idle for a minute, and with it what it keeps."""


class ReadClients(NamedTuple):
    """What a task reads with."""

    backend: Backend
    reader: IsolationReader


class _Kept(NamedTuple):
    clients: ReadClients
    open: ExitStack


_Key = tuple[object, ...]
_kept: dict[_Key, _Kept] = {}


@contextmanager
def kept_clients(
    name: str, properties: Mapping[str, str], choice: PartChoice, *, headers: bool
) -> Iterator[ReadClients]:
    """A backend and a reader that the next task with the same options uses, too (Spark's `KafkaDataConsumer`).

    Connecting takes longer than reading a small batch. Clients that failed, or whose read was not finished, are closed.
    A forked process opens its own, and leaves alone what it has of its parent.
    """
    own = tuple(sorted(choice.properties.items()))
    key = (os.getpid(), name, tuple(sorted(properties.items())), choice.name, own, headers)
    # While they are used they are not kept: nobody else in this process can get them.
    one = _kept.pop(key, None)
    if one is None:
        with ExitStack() as opening:
            backend = opening.enter_context(open_backend(name, properties))
            reader = opening.enter_context(open_isolation_reader(backend, choice, headers=headers))
            one = _Kept(ReadClients(backend, reader), opening.pop_all())
    try:
        yield one.clients
    except BaseException:
        one.open.close()
        raise
    mine = [each for each in _kept if each[0] == key[0]]
    for oldest in [key] if key in _kept else mine[: max(0, len(mine) + 1 - KEPT)]:
        _kept.pop(oldest).open.close()
    _kept[key] = one


@atexit.register
def close_kept_clients() -> None:
    """Close what this process keeps."""
    for key in [each for each in _kept if each[0] == os.getpid()]:
        _kept.pop(key).open.close()
