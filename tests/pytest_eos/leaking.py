"""Connectors whose tasks leave something behind when they are stopped."""

from __future__ import annotations

import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

from tests.pytest_eos.counter import CounterConnector, CounterTask, connector

from eosfw.config import Config
from eosfw.connectors import SourceTaskContext

OVER = threading.Event()
"""Set by the tests, so that what is left behind ends with them."""
PREFETCH = "prefetch"
"""The name of the threads that are left behind."""


@connector()
class Everything(CounterTask):
    """Leaves one of each kind: a thread, a descriptor of a file, a connection, a temporary file, a process."""

    def start(self, config: Config, context: SourceTaskContext) -> None:
        super().start(config, context)
        threading.Thread(target=self.prefetch, name=PREFETCH, daemon=True).start()
        listening = socket.create_server(("127.0.0.1", 0))
        with tempfile.NamedTemporaryFile(prefix="state-", delete=False):
            pass
        self.left: Any = (
            Path(__file__).open("rb"),  # noqa: SIM115
            listening,
            socket.create_connection(listening.getsockname()),
            subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE),
        )

    def prefetch(self) -> None:
        OVER.wait()


@connector()
class ReadsOn(CounterTask):
    """Its thread ends once everything was taken, and not with `stop`."""

    def start(self, config: Config, context: SourceTaskContext) -> None:
        super().start(config, context)
        self.taken = threading.Event()
        threading.Thread(target=self.prefetch, name=PREFETCH, daemon=True).start()

    def prefetch(self) -> None:
        while not (self.taken.wait(0.01) or OVER.is_set()):
            pass

    def at_end(self) -> bool:
        ended = super().at_end()
        if ended:
            self.taken.set()
        return ended


class CachingTask(CounterTask):
    """Holds something for all tasks of the process, once."""

    shared: Any = None

    def start(self, config: Config, context: SourceTaskContext) -> None:
        super().start(config, context)
        if CachingTask.shared is None:
            CachingTask.shared = open(__file__, encoding="utf-8")  # noqa: SIM115


class Caching(CounterConnector):
    task = CachingTask
