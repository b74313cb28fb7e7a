"""Serve an embedded cluster from this process."""

from __future__ import annotations

import errno
import ipaddress
import socket
from collections.abc import Mapping, Sequence
from typing import ClassVar, Self

from eosfw.errors import ConfigError, Problem
from eosfw.protocols import OpenTransaction
from eosfw.waiting import Runtime
from eosfw_memory.broker import Broker
from eosfw_memory.settings import Endpoint, Settings
from eosfw_memory.wire.server import WireServer

_BACKLOG = 128


class EmbeddedCluster:
    """One broker in memory, with its port."""

    name: ClassVar[str] = "memory"

    def __init__(self, broker: Broker, server: WireServer) -> None:
        self.broker = broker
        self._server = server
        self.bootstrap_servers = str(broker.endpoint)

    @classmethod
    def start(cls, properties: Mapping[str, str], runtime: Runtime) -> Self:
        """Serve a fresh cluster; the port is open on return."""
        settings = Settings.parse(properties)
        _refuse_strangers(settings)
        listening = _listen(settings.listener)
        host, port = listening.getsockname()[:2]
        advertised = settings.advertised
        endpoint = Endpoint(advertised.host, advertised.port or port) if advertised else Endpoint(host, port)
        broker = Broker(settings, endpoint, runtime)
        return cls(broker, WireServer(broker, listening, runtime))

    def open_transactions(self) -> Sequence[OpenTransaction]:
        """Every transaction that is open now, once for each partition it has written to."""
        return self.broker.open_transactions()

    def close(self) -> None:
        """Stop serving: no port, thread or connection remains."""
        self._server.close()


def _refuse_strangers(settings: Settings) -> None:
    """Whoever lets other machines in must say where they find the broker (ruling 19)."""
    host = settings.listener.host
    if settings.advertised is None and not _is_loopback(host):
        raise ConfigError(
            Problem(
                "listeners",
                f"{host or '*'} can be reached from other machines, without any authentication; "
                "if that is meant, say in advertised.listeners (eosfw broker: --advertised) where clients find it",
            )
        )


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _listen(where: Endpoint) -> socket.socket:
    family = socket.AF_INET6 if ":" in where.host else socket.AF_INET
    try:
        return socket.create_server((where.host, where.port), family=family, backlog=_BACKLOG)
    except OSError as why:
        raise ConfigError(Problem("listeners", _explained(where, why))) from why


def _explained(where: Endpoint, why: OSError) -> str:
    if why.errno == errno.EADDRINUSE:
        return f"cannot listen on {where}: the port is in use; stop who uses it, or take another (0 for any free one)"
    return f"cannot listen on {where}: {why.strerror or why}"
