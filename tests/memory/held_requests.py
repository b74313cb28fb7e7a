"""A network between a client and a broker that holds Produce requests back."""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable
from contextlib import suppress
from threading import Event, Thread
from typing import Final

_HEAD: Final = struct.Struct(">ih")
"""The size of a request, and which request it is."""
_PRODUCE: Final = 0


class HeldRequests:
    """Listens for clients that are told this address as the broker's; set `broker` before they come."""

    def __init__(self) -> None:
        self.broker = ""
        self.arrived = Event()
        """A Produce request is here, and not at the broker."""
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self._open = Event()
        self._open.set()
        self._sockets: list[socket.socket] = [self._listener]
        _start(self._accept)

    def hold(self) -> None:
        """Hold Produce requests from now on."""
        self.arrived.clear()
        self._open.clear()

    def release(self) -> None:
        """Deliver what is held, and hold nothing more."""
        self._open.set()

    def close(self) -> None:
        """End all connections."""
        self._open.set()
        for each in self._sockets:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                host, port = self.broker.split(":")
                broker = socket.create_connection((host, int(port)))
                self._sockets += [client, broker]
                _start(lambda client=client, broker=broker: self._requests(client, broker))
                _start(lambda client=client, broker=broker: self._answers(client, broker))

    def _requests(self, client: socket.socket, broker: socket.socket) -> None:
        with suppress(OSError), client.makefile("rb") as lines:
            while head := lines.read(_HEAD.size):
                size, kind = _HEAD.unpack(head)
                request = head + lines.read(size + 4 - _HEAD.size)
                if kind == _PRODUCE and not self._open.is_set():
                    self.arrived.set()
                    self._open.wait()
                broker.sendall(request)

    def _answers(self, client: socket.socket, broker: socket.socket) -> None:
        with suppress(OSError):
            while data := broker.recv(1 << 16):
                client.sendall(data)


def _start(run: Callable[[], None]) -> None:
    Thread(target=run, daemon=True).start()
