"""A network between clients and a broker."""

from __future__ import annotations

import socket
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from contextlib import suppress
from threading import Thread


class Proxy(ABC):
    """Listens for clients that are told this address as the broker's, and connects each to the broker."""

    def __init__(self, broker: str = "") -> None:
        self.broker = broker
        """Set before the first client comes."""
        self._open: list[socket.socket] = []
        self._serving: list[Thread] = []
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listening.getsockname()[1]}"
        self._thread = Thread(target=self._accept)
        self._thread.start()

    def close(self) -> None:
        """End all connections."""
        _end(self._listening)
        self._thread.join()  # nobody is accepted any more who would not be closed
        for each in self._open:
            _end(each)
        for each in self._serving:
            each.join()

    @abstractmethod
    def passing(self, client: socket.socket, broker: socket.socket) -> Iterable[Callable[[], None]]:
        """What passes bytes between two ends, each on a thread of its own, until an end is closed."""

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                host, port = self.broker.split(":")
                broker = socket.create_connection((host, int(port)))
                self._open += client, broker
                for run in self.passing(client, broker):
                    self._serving.append(Thread(target=_until_closed, args=(run,)))
                    self._serving[-1].start()


def _until_closed(run: Callable[[], None]) -> None:
    with suppress(OSError):
        run()


def _end(opened: socket.socket) -> None:
    with opened, suppress(OSError):
        opened.shutdown(socket.SHUT_RDWR)
