"""A broker that is frozen is named long before a call gives up on it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing

import pytest

from eosfw.concurrency import ThreadRuntime
from eosfw.pipeline import Options, RunControl, SilentReporter, Verification, run
from eosfw.pipeline.local import broker_watch
from eosfw.pipeline.local.broker_watch import BrokerWatch

WAIT = 60.0


@pytest.fixture(autouse=True)
def hurried(monkeypatch) -> None:
    """Shorten the intervals of the broker watch."""
    for name, seconds in (("_INTERVAL", 0.02), ("_SILENCE", 0.3), ("_POLL", 0.02)):
        monkeypatch.setattr(broker_watch, name, seconds)


class Warnings:
    """Collected warnings that a test can wait for."""

    def __init__(self) -> None:
        self._queue = ThreadRuntime().queue()

    def __call__(self, text: str) -> None:
        self._queue.put(text)

    def next(self) -> str:
        return self._queue.get(WAIT)

    def none(self, seconds: float) -> bool:
        try:
            self._queue.get(seconds)
        except TimeoutError:
            return True
        return False


@pytest.fixture
def broker() -> Iterator[tuple[subprocess.Popen[str], str]]:
    process = subprocess.Popen([sys.executable, "-m", "eosfw_memory"], stdout=subprocess.PIPE, text=True)
    yield process, process.stdout.readline().split()[-1]
    os.kill(process.pid, signal.SIGCONT)
    process.terminate()
    process.wait(WAIT)
    process.stdout.close()


def watch(address: str, warn: Warnings) -> BrokerWatch:
    return BrokerWatch({"bootstrap.servers": address}, ThreadRuntime(), warn)


def test_a_broker_freeze_and_its_end_are_reported(broker) -> None:
    """SIGSTOP: the system still accepts connections for it; only the clients' calls, minutes later, would tell."""
    process, address = broker
    warnings = Warnings()
    with watch(address, warnings):
        assert warnings.none(1.0), "it answers"
        os.kill(process.pid, signal.SIGSTOP)
        message = warnings.next()
        assert message.startswith(f"{address} lets clients in and answers none; nothing was heard from it for ")
        assert warnings.none(1.0), "once is enough"
        os.kill(process.pid, signal.SIGCONT)
        assert warnings.next().startswith(f"{address} answers again, after ")


@pytest.mark.parametrize("backend", ["memory", "confluent", "kafka-python"])
def test_a_run_reports_a_frozen_broker_before_its_calls_time_out(broker, pipeline, plugins, backend) -> None:
    """Woken up by who reads the warning, the broker serves the run to its end."""
    process, address = broker
    warnings: list[str] = []

    class Waking(SilentReporter):
        def warning(self, text: str) -> None:
            warnings.append(text)
            os.kill(process.pid, signal.SIGCONT)

    flow = pipeline(backend=backend, address=address)
    os.kill(process.pid, signal.SIGSTOP)
    summary = run(flow, plugins, RunControl(ThreadRuntime()), Waking(), Options(verify=Verification.OFF))
    assert summary.records == 10
    assert warnings[0].startswith(f"{address} lets clients in and answers none; nothing was heard from it for ")


def test_a_broker_that_went_away_is_named(broker) -> None:
    """Clients try again for as long as a call may take."""
    process, address = broker
    warnings = Warnings()
    with watch(address, warnings):
        process.kill()
        assert warnings.next().startswith(f"{address} cannot be reached (Connection refused); nothing was heard")


def test_a_broker_that_closes_connections_is_not_frozen() -> None:
    """A broker that accepts connections is alive."""
    warnings = Warnings()
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(WAIT)
        with watch(f"127.0.0.1:{server.getsockname()[1]}", warnings):
            for _ in range(30):
                with closing(server.accept()[0]) as connection:
                    connection.recv(100)
    assert warnings.none(0.0)


@pytest.mark.parametrize(
    "properties",
    [{}, {"bootstrap.servers": "127.0.0.1:9", "security.protocol": "SASL_SSL"}],
    ids=["a run's own broker", "a broker with TLS"],
)
def test_only_brokers_that_may_freeze_silently_are_watched(properties) -> None:
    """A run's own broker freezes with the run; one with TLS would note a failed handshake every few seconds."""
    with BrokerWatch(properties, ThreadRuntime(), Warnings()) as watching:
        assert watching._threads == []
