"""A broker that is frozen is named long before a call gives up on it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, suppress

import pytest

from clocks import StoppedClock
from eosfw.concurrency import ThreadRuntime
from eosfw.pipeline import Options, RunControl, SilentReporter, Verification, run
from eosfw.pipeline.definition.connectivity import Address
from eosfw.pipeline.local import broker_watch
from eosfw.pipeline.local.broker_watch import BrokerWatch

WAIT = 60.0
SILENCE = broker_watch._SILENCE


@pytest.fixture(autouse=True)
def hurried(monkeypatch) -> None:
    """Shorten the pauses between two looks of the broker watch."""
    for name in ("_INTERVAL", "_POLL"):
        monkeypatch.setattr(broker_watch, name, 0.02)


class Warnings:
    """Collected warnings that a test can wait for."""

    def __init__(self) -> None:
        self.queue = ThreadRuntime().queue()

    def __call__(self, text: str) -> None:
        self.queue.put(text)

    def next(self) -> str:
        return self.queue.get(WAIT)

    def none(self) -> bool:
        try:
            self.queue.get(0.0)
        except TimeoutError:
            return True
        return False


class CountingWatch(BrokerWatch):
    """How often it has looked can be waited for.

    Its clock stands still, so that a broker on a busy machine is not taken for a frozen one.
    """

    def __init__(self, address: str) -> None:
        self.warnings, self.clock, self._looks = Warnings(), StoppedClock(), ThreadRuntime().queue()
        super().__init__({"bootstrap.servers": address}, self.clock, self.warnings)

    def _probe(self, address: Address, deadline: float) -> str | None:
        found = super()._probe(address, deadline)
        self._looks.put(found)
        return found

    def look(self) -> str | None:
        """Wait for the next look at a broker that answers; return what was wrong."""
        return self._looks.get(WAIT)

    def look_in_vain(self) -> None:
        """Let time go by until a look at a broker that answers no more has ended."""
        while True:
            self.clock.at += SILENCE
            with suppress(TimeoutError):
                self._looks.get(0.1)
                return

    def await_silence(self) -> str:
        """Let time go by until a warning comes, for a broker that answers no more."""
        while True:
            self.clock.at += SILENCE
            with suppress(TimeoutError):
                return self.warnings.queue.get(0.1)


@pytest.fixture
def broker() -> Iterator[tuple[subprocess.Popen[str], str]]:
    process = subprocess.Popen([sys.executable, "-m", "eosfw_memory"], stdout=subprocess.PIPE, text=True)
    yield process, process.stdout.readline().split()[-1]
    process.send_signal(signal.SIGCONT)
    process.terminate()
    process.wait(WAIT)
    process.stdout.close()


def test_a_broker_freeze_and_its_end_are_reported(broker) -> None:
    """SIGSTOP: the system still accepts connections for it; only the clients' calls, minutes later, would tell."""
    process, address = broker
    with CountingWatch(address) as watch:
        for _ in range(5):
            assert watch.look() is None, "it answers"
            watch.clock.at += 0.4 * SILENCE
        assert watch.warnings.none()
        os.kill(process.pid, signal.SIGSTOP)
        message = watch.await_silence()
        assert message.startswith(f"{address} lets clients in and answers none; nothing was heard from it for ")
        for _ in range(3):
            watch.look_in_vain()
        assert watch.warnings.none(), "once is enough"
        os.kill(process.pid, signal.SIGCONT)
        assert watch.warnings.next().startswith(f"{address} answers again, after ")


@pytest.mark.parametrize("backend", ["memory", "confluent", "kafka-python"])
def test_a_run_reports_a_frozen_broker_before_its_calls_time_out(
    broker, pipeline, plugins, backend, monkeypatch
) -> None:
    """Woken up by who reads the warning, the broker serves the run to its end."""
    monkeypatch.setattr(broker_watch, "_SILENCE", 0.3)
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
    with CountingWatch(address) as watch:
        process.kill()
        process.wait(WAIT)
        assert watch.await_silence().startswith(f"{address} cannot be reached (Connection refused); nothing was heard")


def test_a_broker_that_closes_connections_is_not_frozen() -> None:
    """A broker that accepts connections is alive."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(WAIT)
        with CountingWatch(f"127.0.0.1:{server.getsockname()[1]}") as watch:
            for _ in range(30):
                with closing(server.accept()[0]) as connection:
                    connection.recv(100)
                assert watch.look() is None
                watch.clock.at += 0.4 * SILENCE
    assert watch.warnings.none()


@pytest.mark.parametrize(
    "properties",
    [{}, {"bootstrap.servers": "127.0.0.1:9", "security.protocol": "SASL_SSL"}],
    ids=["a run's own broker", "a broker with TLS"],
)
def test_only_brokers_that_may_freeze_silently_are_watched(properties) -> None:
    """A run's own broker freezes with the run; one with TLS would note a failed handshake every few seconds."""
    with BrokerWatch(properties, ThreadRuntime(), Warnings()) as watching:
        assert watching._threads == []
