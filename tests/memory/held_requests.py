"""A network between a client and a broker that holds Produce requests back."""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable, Iterable
from functools import partial
from threading import Event
from typing import Final

from .proxy import Proxy

_HEAD: Final = struct.Struct(">ih")
"""The size of a request, and which request it is."""
_PRODUCE: Final = 0


class HeldRequests(Proxy):
    """Delivers everything, and Produce requests when it is told to."""

    def __init__(self) -> None:
        self.arrived = Event()
        """A Produce request is here, and not at the broker."""
        self._delivers = Event()
        self._delivers.set()
        super().__init__()

    def hold(self) -> None:
        """Hold Produce requests from now on."""
        self.arrived.clear()
        self._delivers.clear()

    def release(self) -> None:
        """Deliver what is held, and hold nothing more."""
        self._delivers.set()

    def close(self) -> None:
        self.release()
        super().close()

    def passing(self, client: socket.socket, broker: socket.socket) -> Iterable[Callable[[], None]]:
        return partial(self._requests, client, broker), partial(self._answers, client, broker)

    def _requests(self, client: socket.socket, broker: socket.socket) -> None:
        with client.makefile("rb") as lines:
            while head := lines.read(_HEAD.size):
                size, kind = _HEAD.unpack(head)
                request = head + lines.read(size + 4 - _HEAD.size)
                if kind == _PRODUCE and not self._delivers.is_set():
                    self.arrived.set()
                    self._delivers.wait()
                broker.sendall(request)

    def _answers(self, client: socket.socket, broker: socket.socket) -> None:
        while data := broker.recv(1 << 16):
            client.sendall(data)
