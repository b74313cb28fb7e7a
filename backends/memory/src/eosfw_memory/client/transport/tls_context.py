"""TLS of this client's connections, by files that may be renewed while it runs. Kafka's `SslFactory`."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from pathlib import Path

from eosfw.config.named_file import content_state
from eosfw.config.security import SecuritySettings
from eosfw.errors import ConfigError
from eosfw.security import client_context


class TlsSocket(ssl.SSLSocket):
    """A socket with TLS that can be asked, as one without, for bytes that it does not take (MSG_PEEK)."""

    _ahead = b""
    """A byte that was looked at and not taken yet."""

    def recv(self, buflen: int = 1024, flags: int = 0) -> bytes:
        if not self._ahead:
            try:
                # A byte at most: whoever looks asks for no more, and takes what follows with `recv_into`.
                received = super().recv(1 if flags else buflen)
            except (ssl.SSLWantReadError, ssl.SSLWantWriteError) as none:
                raise BlockingIOError from none
            if not flags:
                return received
            self._ahead = received
        found = self._ahead
        if not flags:
            self._ahead = b""
        return found

    def recv_into(self, buffer: memoryview, nbytes: int | None = None, flags: int = 0) -> int:  # type: ignore[override]
        if not self._ahead:
            return super().recv_into(buffer, nbytes, flags)
        buffer[:1], self._ahead = self._ahead, b""
        return 1


class TlsContext:
    """Reads keys and certificates again once their files have changed, for the connections after that."""

    def __init__(self, settings: SecuritySettings) -> None:
        self._settings = settings
        self._seen = _state_of_files(settings)
        self._context = _context(settings)

    def current(self) -> ssl.SSLContext:
        """What the files say now, or said before if they cannot be used: they may be half written."""
        seen = _state_of_files(self._settings)
        if seen != self._seen:
            try:
                self._context = _context(self._settings)
            except ConfigError:
                return self._context
            self._seen = seen
        return self._context


def _context(settings: SecuritySettings) -> ssl.SSLContext:
    made = client_context(settings)
    made.sslsocket_class = TlsSocket
    return made


def _state_of_files(settings: SecuritySettings) -> tuple[object, ...]:
    return tuple(content_state(Path(path)) for path in _files(settings))


def _files(settings: SecuritySettings) -> Iterator[str]:
    return filter(
        None,
        (
            settings.ca_location,
            settings.truststore_location,
            settings.certificate_location,
            settings.key_location,
            settings.keystore_location,
        ),
    )
