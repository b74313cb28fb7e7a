"""Where the processes of tasks connect to their worker."""

from __future__ import annotations

import logging
import secrets
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from eosfw.concurrency import Runtime
from eosfw.errors import ClusterUnavailableError
from eosfw.runtime.hosting.connection import ConnectionLostError, TaskConnection

logger = logging.getLogger(__name__)

_PAUSE: Final = 1.0
"""Seconds before it accepts again, when it could not."""


class TaskServer:
    """Listens on a port, and serves each process that knows its key on a thread of its own."""

    def __init__(self, bind_address: str, serve: Callable[[TaskConnection], None], runtime: Runtime) -> None:
        self._serve, self._runtime, self._closed = serve, runtime, False
        self.key = secrets.token_bytes(32)
        try:
            self._listener = socket.create_server((bind_address, 0))
        except OSError as why:
            raise ClusterUnavailableError(f"cannot listen for task processes at {bind_address}: {why}") from why
        self.port: int = self._listener.getsockname()[1]
        runtime.spawn("eosfw-task-server", self._accept)

    def _accept(self) -> None:
        while True:
            try:
                peer, _ = self._listener.accept()
            except OSError as why:
                if self._closed:
                    return
                # Such as no free descriptor: one may be free soon, and every task needs this port.
                logger.warning("a task's process could not be connected, and has to wait: %s", why)
                self._runtime.sleep(_PAUSE)
                continue
            self._runtime.spawn("eosfw-task-connection", lambda peer=peer: self._serve_peer(peer))  # type: ignore[misc]

    def _serve_peer(self, peer: socket.socket) -> None:
        try:
            connection = TaskConnection.accepted(peer, self.key, self._runtime)
        except (ConnectionLostError, OSError) as why:
            logger.warning("refused a connection to the port for task processes: %s", why)
            return
        self._serve(connection)

    def close(self) -> None:
        """Accept nobody any more; connections that are open stay so."""
        self._closed = True
        with suppress(OSError):  # closed before
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
