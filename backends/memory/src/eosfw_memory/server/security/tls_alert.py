"""Tell a client why its TLS handshake failed.

asyncio closes such a connection without the alert that OpenSSL has made for it. The client would see the end of the
connection alone, which for whoever lacks a certificate, or speaks without TLS, is no answer.
"""

from __future__ import annotations

import socket
import ssl
from contextlib import suppress
from contextvars import ContextVar
from typing import Any, Final

ACCEPTED: ContextVar[socket.socket] = ContextVar("ACCEPTED")
"""The socket whose handshake begins in this context."""
_UNEXPECTED_MESSAGE: Final = bytes((21, 3, 3, 0, 2, 2, 10))
"""A fatal alert of TLS 1.2 (RFC 5246, 7.2)."""


class _AlertingObject(ssl.SSLObject):
    _accepted: socket.socket
    _outgoing: ssl.MemoryBIO

    def do_handshake(self) -> None:
        try:
            super().do_handshake()
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            raise
        except ssl.SSLError:
            # OpenSSL has no alert for bytes that are no TLS at all; Java's brokers have one.
            with suppress(OSError):  # the client is gone, or reads nothing
                self._accepted.send(self._outgoing.read() or _UNEXPECTED_MESSAGE)
            raise


class AlertingContext(ssl.SSLContext):
    """Sends the alert of a handshake that fails to the socket in `ACCEPTED`."""

    sslobject_class = _AlertingObject

    def wrap_bio(self, incoming: ssl.MemoryBIO, outgoing: ssl.MemoryBIO, *args: Any, **named: Any) -> ssl.SSLObject:
        made = super().wrap_bio(incoming, outgoing, *args, **named)
        assert isinstance(made, _AlertingObject)
        made._accepted, made._outgoing = ACCEPTED.get(), outgoing  # noqa: SLF001 - of this module
        return made
