"""Warnings about brokers that accept connections and answer no request, as a frozen process does.

A client of Kafka waits for an answer as long as a call may take, and some calls follow one another: for two minutes
a slow cluster cannot be told from a dead one. So, while a run goes on, each address of `bootstrap.servers` is asked for
its API versions, which every broker answers at once, before authentication. Brokers with TLS are not asked: they log
every connection that ends without a valid handshake.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, Self

from eosfw.concurrency import Runtime, Spawned
from eosfw.config.addresses import Address, parse_addresses
from eosfw.pipeline.definition.connectivity import is_plaintext
from eosfw.security import API_VERSIONS_REQUEST

_INTERVAL: Final = 3.0
"""Seconds from one answer to the next question."""
_SILENCE: Final = 10.0
"""Seconds without an answer after which a warning is due; a busy or restarting broker may need less."""
_POLL: Final = 0.5
"""Seconds between two looks at whether the run has ended."""


class BrokerWatch:
    """Calls `warn` when a broker stops answering, and when it answers again; a context manager."""

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
            thread.join(2 * _POLL)

    def _watch(self, address: Address) -> None:
        answered, warned = self._runtime.now(), False
        while not self._ended.is_set():
            asked = self._runtime.now()
            problem = self._probe(address, asked + _SILENCE)
            silent = self._runtime.now() - answered
            if problem is None:
                if warned:
                    self._warn(f"{address} answers again, after {silent:.0f} s")
                answered, warned = asked, False
            elif silent >= _SILENCE and not warned and not self._ended.is_set():
                self._warn(f"{address} {problem}; nothing was heard from it for {silent:.0f} s. Is the broker frozen?")
                warned = True
            self._ended.wait(_POLL if problem else _INTERVAL)

    def _probe(self, address: Address, deadline: float) -> str | None:
        """None if anything is received, or the connection is reset, before the deadline; else what happened."""
        try:
            with socket.create_connection(address, timeout=_SILENCE) as connection:
                connection.settimeout(_POLL)
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
