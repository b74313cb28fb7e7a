"""Notice that a broker accepts connections and answers none, as a frozen process does, long before a call gives up.

A client of Kafka waits for an answer as long as a call may take, and some calls follow one another: two minutes may go
by in which nobody can tell a slow cluster from a dead one. So, beside the run, each address of `bootstrap.servers` is
asked for something that every broker answers at once, authenticated or not. Not so where clients speak TLS: a broker
writes every connection into its log that ends without a handshake it likes.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, Self

from eosfw.concurrency import Runtime, Spawned
from eosfw.pipeline.connectivity import Address, parse_addresses
from eosfw.pipeline.protocol_probe import API_VERSIONS_REQUEST, is_plaintext

_EVERY: Final = 3.0
"""Seconds from one answer to the next question."""
_PATIENCE: Final = 10.0
"""Seconds of silence worth a warning; less may be a broker that has much to do, or is started again."""
_LOOK: Final = 0.5


class BrokerWatch:
    """Says through `warn` which broker does not answer, since when, and when it does again; a context manager."""

    def __init__(self, properties: Mapping[str, str], runtime: Runtime, warn: Callable[[str], None]) -> None:
        servers = properties.get("bootstrap.servers", "") if is_plaintext(properties) else ""
        self._addresses = parse_addresses(servers)
        self._runtime = runtime
        self._warn = warn
        self._ended = runtime.event()
        self._threads: list[Spawned] = []

    def __enter__(self) -> Self:
        self._threads = [
            self._runtime.spawn(f"eosfw-watch-{each}", partial(self._watch, each)) for each in self._addresses
        ]
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join(2 * _LOOK)

    def _watch(self, address: Address) -> None:
        answered, warned = self._runtime.now(), False
        while not self._ended.is_set():
            asked = self._runtime.now()
            trouble = self._trouble(address, asked + _PATIENCE)
            silent = self._runtime.now() - answered
            if trouble is None:
                if warned:
                    self._warn(f"{address} answers again, after {silent:.0f} s")
                answered, warned = asked, False
            elif silent >= _PATIENCE and not warned and not self._ended.is_set():
                self._warn(f"{address} {trouble}; nothing was heard from it for {silent:.0f} s. Is the broker frozen?")
                warned = True
            self._ended.wait(_LOOK if trouble else _EVERY)

    def _trouble(self, address: Address, deadline: float) -> str | None:
        """None if somebody there reacts in any way before the deadline; else what they do."""
        try:
            with socket.create_connection(address, timeout=_PATIENCE) as connection:
                connection.settimeout(_LOOK)
                connection.sendall(API_VERSIONS_REQUEST)
                while self._runtime.now() < deadline and not self._ended.is_set():
                    try:
                        connection.recv(1)
                    except TimeoutError:
                        continue
                    return None
        except ConnectionResetError:
            return None
        except OSError as why:
            return f"cannot be reached ({why.strerror or why})"
        return "lets clients in and answers none"
