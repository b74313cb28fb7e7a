"""Open connections to brokers as the security properties of a client say. Kafka's `ChannelBuilder`."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import NamedTuple

from eosfw.config.security import SecuritySettings
from eosfw.errors import AuthenticationError
from eosfw.security import Address, FirstAuthentication, log_in
from eosfw_memory.client.transport.tls_context import TlsContext


class Opened(NamedTuple):
    """A connection, with the seconds after which its broker wants the client to log in again; 0 if never."""

    socket: socket.socket
    session_lifetime: float


class ChannelBuilder:
    """Opens connections with TLS and SASL where the properties ask for them."""

    def __init__(self, settings: SecuritySettings, first: FirstAuthentication | None = None) -> None:
        self._settings = settings
        self._first = first
        self._tokens = first.tokens if first is not None else None
        self._tls = TlsContext(settings) if settings.protocol.tls else None

    def require(self) -> None:
        """Raise AuthenticationError if the cluster refuses these properties and has never taken them."""
        if self._first is not None:
            self._first.require()

    def open(self, address: Address, left: Callable[[], float]) -> Opened:
        """A connection that serves requests, or OSError or AuthenticationError; `left` gives the seconds for a step."""
        opened, lifetime = socket.create_connection(address, timeout=left()), 0.0
        try:
            opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._tls is not None:
                opened.settimeout(left())
                opened = self._tls.current().wrap_socket(opened, server_hostname=address.host)
            if self._settings.protocol.sasl:
                opened.settimeout(left())
                lifetime = self._log_in(opened, address)
        except BaseException:
            opened.close()
            raise
        return Opened(opened, lifetime)

    def renew(self, opened: socket.socket, address: Address, left: Callable[[], float]) -> float:
        """Log in again on a connection (KIP-368), or OSError or AuthenticationError; the seconds that this lasts."""
        opened.settimeout(left())
        return self._log_in(opened, address, again=True)

    def _log_in(self, opened: socket.socket, address: Address, *, again: bool = False) -> float:
        try:
            return log_in(opened, self._settings, address, self._tokens, again=again)
        except AuthenticationError:
            if self._tokens is not None:
                self._tokens.discard()
            raise
