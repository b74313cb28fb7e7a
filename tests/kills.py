"""Processes that are killed with -9 at random under load: what a proof of a connector does to them.

A test has an `EmbeddedBroker` whose log is on disk, a `Worker` that runs a pipeline file on it, and whatever else its
connector reads from: everything with `kill` and `start` can be a victim of `kill_at_random`. `Load` changes the source
meanwhile. tests/postgres/test_kills.py is an example.
"""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol

import pytest

from eosfw.concurrency import ThreadRuntime
from eosfw.errors import RetriableError
from eosfw.ids import TopicPartition
from eosfw.protocols import NewTopic
from eosfw_memory.client.backend import MemoryBackend
from ports import free_port
from pytest_eos.contracts.backends.harness import COMMITTED, BackendHarness

EOSFW = (sys.executable, "-c", "from eosfw.cli.entry import main; main()")
WORKER_GROUP = """
[cluster]
backend = "memory"
"bootstrap.servers" = "{servers}"

[worker]
"group.id" = "kills"
"key.converter" = "json"
"key.converter.schemas.enable" = false
"value.converter" = "json"
"value.converter.schemas.enable" = false
"""
"""The beginning of a pipeline file whose worker writes JSON."""
STALL = 60.0
"""Seconds in which records must come, whatever was killed; far longer than any restart takes."""


class Victim(Protocol):
    """Something that can be killed at any moment, and started again."""

    def kill(self) -> None:
        """End it with SIGKILL; it has ended on return."""

    def start(self) -> None:
        """Start it again with what it has on disk."""


class EmbeddedBroker:
    """`eosfw broker` in a process of its own: what it has acknowledged is on disk."""

    def __init__(self, folder: Path, topics: Collection[str], partitions: int = 1) -> None:
        self._folder, self._listen = folder, f"127.0.0.1:{free_port()}"
        self.start()
        self._backend = MemoryBackend.connect({"bootstrap.servers": self.servers}, ThreadRuntime())
        self.harness = BackendHarness(self._backend, ThreadRuntime())
        self.harness.admin.create_topics([NewTopic(topic, partitions) for topic in topics])

    @property
    def servers(self) -> str:
        """Its address, which stays."""
        return self._listen

    def start(self) -> None:
        command = [*EOSFW, "broker", "--listen", self._listen, "--data-dir", str(self._folder / "broker")]
        with (self._folder / "broker.txt").open("a") as said:
            self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=said)
        if self._process.stdout is None or not self._process.stdout.readline():
            pytest.fail(f"the broker did not start: {(self._folder / 'broker.txt').read_text()[-2000:]}")

    def kill(self) -> None:
        _killed(self._process)

    def close(self) -> None:
        """End it, and its clients."""
        self.harness.close()
        self.kill()

    def committed(self, *topics: str) -> int:
        """How many places of topics hold what was committed."""
        partitions = self.harness.admin.partitions(topics)
        ones = [TopicPartition(topic, number) for topic in topics for number in range(partitions[topic])]
        return sum(self.harness.admin.end_offsets(ones, COMMITTED).values())


class Worker:
    """`eosfw run --follow` of a pipeline file."""

    def __init__(self, file: Path) -> None:
        self._file, self._said = file, file.with_suffix(".txt")
        self.start()

    @property
    def said(self) -> str:
        """The end of what it has written to stderr."""
        return self._said.read_text()[-4000:]

    def start(self) -> None:
        self._process = self._run("--follow")

    def kill(self) -> None:
        _killed(self._process)

    def finish(self) -> None:
        """Run it once more, up to the end of what there is to read."""
        self.kill()
        assert self._run().wait() == 0, self.said

    def refuse_end(self) -> None:
        """Fail if it has ended by itself."""
        if self._process.poll() is not None:
            pytest.fail(f"the worker has ended by itself: {self.said}")

    def _run(self, *options: str) -> subprocess.Popen[bytes]:
        with self._said.open("a") as said:
            return subprocess.Popen([*EOSFW, "run", "--quiet", *options, str(self._file)], stderr=said)


class Load:
    """Repeats a step in a thread of its own, about ten times in a second, also beyond the errors that a kill causes."""

    def __init__(self, step: Callable[[], object], errors: type[Exception]) -> None:
        self._step, self._errors, self._stopped = step, errors, threading.Event()
        self._thread = threading.Thread(target=self._repeat)
        self._thread.start()

    def stop(self) -> None:
        """Let the step end that is running."""
        self._stopped.set()
        self._thread.join()

    def _repeat(self) -> None:
        while not self._stopped.wait(0.1):
            with suppress(self._errors):
                self._step()


@contextmanager
def worker_under_load(file: Path, *loads: Load) -> Iterator[Worker]:
    """A worker of a pipeline file; at the end the load stops, and the worker reads what is left."""
    running = Worker(file)
    try:
        yield running
    finally:
        for load in loads:
            load.stop()
        running.kill()
    running.finish()


def kill_at_random(
    victims: Sequence[Victim], rounds: int, rng: random.Random, count: Callable[[], int], worker: Worker
) -> None:
    """Kill one of the victims, and start it again, each time that `count` has grown by 1 to 400."""
    for _ in range(rounds):
        await_growth(count, rng.randrange(1, 400), worker)
        victim = rng.choice(victims)
        victim.kill()
        victim.start()
    await_growth(count, 1, worker)


def await_growth(count: Callable[[], int], growth: int, worker: Worker) -> None:
    """Wait until what `count` returns has grown, while the worker runs."""
    runtime = ThreadRuntime()
    deadline, goal, seen = runtime.now() + STALL, None, 0
    while goal is None or seen < goal:
        with suppress(RetriableError):  # the broker was just killed
            seen = count()
            goal = seen + growth if goal is None else goal
        worker.refuse_end()
        if runtime.now() > deadline:
            pytest.fail(f"no more than {seen} came, not {goal}: {worker.said}")
        runtime.sleep(0.01)


def _killed(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGKILL)
    process.wait()
    if process.stdout is not None:
        process.stdout.close()
