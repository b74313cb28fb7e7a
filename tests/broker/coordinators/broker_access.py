"""Offer the places where a broker is put through every order of requests: direct calls, a socket, another process."""

from __future__ import annotations

import shutil
import signal
import tempfile
from pathlib import Path

from conformance.calls import Caller
from eosfw.concurrency import ThreadRuntime
from eosfw_memory.client.transport.direct import DirectNetwork
from eosfw_memory.cluster import EmbeddedCluster

from ..brokers import Shifted, started
from ..storage.test_kill import Process

_VERSION = "transaction.version"


class Direct:
    """Calls the broker's handlers directly; the logs are in memory.

    Each class says whether a start from the logs costs so little that there may be one after every step (`replays`),
    and whether time can be made to go by (`has_clock`).
    """

    replays = has_clock = True

    def __init__(self, version: int) -> None:
        self.broker = started(properties={_VERSION: str(version)})
        self.caller = Caller("in process", DirectNetwork("in process", lambda: self.broker, ThreadRuntime()))

    def pass_time(self, seconds: float) -> None:
        self.broker.jump(seconds)
        self.broker.run_due_tasks()

    def restart(self) -> None:
        self.broker.restart()

    def close(self) -> None:
        self.broker.close()


class OnDisk:
    """A broker with a data directory, which starts again there; what was in memory only is gone."""

    replays = False

    def __init__(self, version: int) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="eosfw-machine-"))
        self._version = str(version)
        self._start()

    def restart(self) -> None:
        self._stop()
        self._start()

    def close(self) -> None:
        self._stop()
        shutil.rmtree(self._folder)


class Socket(OnDisk):
    """A broker behind a port of this process."""

    has_clock = True

    def __init__(self, version: int) -> None:
        self._runtime = Shifted()
        super().__init__(version)

    def _start(self) -> None:
        properties = {_VERSION: self._version, "log.dirs": str(self._folder)}
        self._cluster = EmbeddedCluster.start(properties, self._runtime)
        self.caller = Caller(self._cluster.bootstrap_servers)

    def pass_time(self, seconds: float) -> None:
        self._runtime.shift += seconds
        self._cluster.broker.jump(seconds)
        self._cluster.broker.run_due_tasks()

    def _stop(self) -> None:
        self.caller.close()
        self._cluster.close()


class Killed(OnDisk):
    """A broker in a process of its own; every restart kills the process."""

    has_clock = False

    def _start(self) -> None:
        self._process = Process(self._folder, 0, "--property", f"{_VERSION}={self._version}")
        self.caller = Caller(self._process.servers)

    def _stop(self) -> None:
        self.caller.close()
        self._process.end(signal.SIGKILL)
        self._process.popen.stdout.close()
        self._process.popen.stderr.close()
