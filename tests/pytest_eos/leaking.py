"""Connectors whose tasks leave something behind when they are stopped."""

from __future__ import annotations

import socket
import subprocess
import sys
import tempfile
import threading
from typing import Any

from tests.pytest_eos.counter import CounterConnector, CounterTask, connector

from eosfw.config import Config
from eosfw.connectors import SourceTaskContext

OVER = threading.Event()
"""Set by the tests, so that what is left behind ends with them."""


class LeakingTask(CounterTask):
    def start(self, config: Config, context: SourceTaskContext) -> None:
        super().start(config, context)
        self.left = self.leave()

    def leave(self) -> Any:
        raise NotImplementedError


@connector()
class Thread(LeakingTask):
    def leave(self) -> Any:
        thread = threading.Thread(target=self.prefetch, name="prefetch", daemon=True)
        thread.start()
        return thread

    def prefetch(self) -> None:
        OVER.wait()


@connector()
class File(LeakingTask):
    def leave(self) -> Any:
        return open(__file__, encoding="utf-8")


@connector()
class Connection(LeakingTask):
    def leave(self) -> Any:
        listening = socket.create_server(("127.0.0.1", 0))
        return listening, socket.create_connection(listening.getsockname())


@connector()
class Temporary(LeakingTask):
    def leave(self) -> Any:
        with tempfile.NamedTemporaryFile(prefix="state-", delete=False) as file:
            return file.name


@connector()
class Process(LeakingTask):
    def leave(self) -> Any:
        return subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)


class CachingTask(CounterTask):
    """Holds something for all tasks of the process, once."""

    shared: Any = None

    def start(self, config: Config, context: SourceTaskContext) -> None:
        super().start(config, context)
        if CachingTask.shared is None:
            CachingTask.shared = open(__file__, encoding="utf-8")  # noqa: SIM115


class Caching(CounterConnector):
    task = CachingTask
