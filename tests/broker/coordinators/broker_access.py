"""Offer the places where a broker is put through every order of requests: direct calls, a socket, another process."""

from __future__ import annotations

import shutil
import signal
import tempfile
from pathlib import Path
from typing import Protocol

from conformance.calls import Caller
from eosfw.concurrency import ThreadRuntime
from eosfw_memory.client.transport.direct import DirectNetwork
from eosfw_memory.cluster import EmbeddedCluster
from eosfw_memory.server.broker.broker import Broker
from eosfw_memory.server.broker.settings import Endpoint, Settings

from ..storage.test_kill import Process

_VERSION = "transaction.version"


class BrokerAccess(Protocol):
    """A broker and a client that sends it single requests."""

    caller: Caller
    replays: bool
    """Whether a start from the logs costs so little that there may be one after every step."""
    has_clock: bool
    """Whether time can be made to go by."""

    def pass_time(self, seconds: float) -> None:
        """Advance the clock, then let the broker run its expired timers."""

    def restart(self) -> None:
        """Start anew from the logs; whatever was in memory only is gone."""

    def close(self) -> None:
        """Close the broker and its clients."""


class Direct:
    """Calls the broker's handlers directly; the logs are in memory."""

    replays = has_clock = True

    def __init__(self, version: int) -> None:
        runtime, settings = ThreadRuntime(), Settings.parse({_VERSION: str(version)})
        self.broker = Broker(settings, Endpoint("127.0.0.1", 9092), runtime)
        self.caller = Caller("in process", DirectNetwork("in process", lambda: self.broker, runtime))

    def pass_time(self, seconds: float) -> None:
        self.broker.jump(seconds)
        self.broker.run_due_tasks()

    def restart(self) -> None:
        self.broker.restart()

    def close(self) -> None:
        self.broker.close()


class _Ahead(ThreadRuntime):
    """A machine whose clock may be put forward, so that a broker that starts anew finds the time its logs tell of."""

    ahead = 0.0

    def wall(self) -> float:
        return super().wall() + self.ahead


class Socket:
    """A broker behind a port of this process, with a data directory from which it starts anew."""

    replays, has_clock = False, True

    def __init__(self, version: int) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="eosfw-machine-"))
        self._properties = {_VERSION: str(version), "log.dirs": str(self._folder)}
        self._runtime = _Ahead()
        self._start()

    def _start(self) -> None:
        self._cluster = EmbeddedCluster.start(self._properties, self._runtime)
        self.caller = Caller(self._cluster.bootstrap_servers)

    def pass_time(self, seconds: float) -> None:
        self._runtime.ahead += seconds
        self._cluster.broker.jump(seconds)
        self._cluster.broker.run_due_tasks()

    def restart(self) -> None:
        self._stop()
        self._start()

    def _stop(self) -> None:
        self.caller.close()
        self._cluster.close()

    def close(self) -> None:
        self._stop()
        shutil.rmtree(self._folder)


class Killed:
    """A broker in a process of its own; every restart kills the process."""

    replays = has_clock = False

    def __init__(self, version: int) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="eosfw-machine-"))
        self._options = ("--property", f"{_VERSION}={version}")
        self._start()

    def _start(self) -> None:
        self._process = Process(self._folder, 0, *self._options)
        self.caller = Caller(self._process.servers)

    def pass_time(self, seconds: float) -> None:
        raise AssertionError("nobody can put this broker's clock forward")

    def restart(self) -> None:
        self._stop()
        self._start()

    def _stop(self) -> None:
        self.caller.close()
        self._process.end(signal.SIGKILL)
        self._process.popen.stdout.close()
        self._process.popen.stderr.close()

    def close(self) -> None:
        self._stop()
        shutil.rmtree(self._folder)
