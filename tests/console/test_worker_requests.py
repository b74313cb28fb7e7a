"""A worker that does not answer holds up no page of the others (UIC-07)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from eosfw.concurrency import Spawned, ThreadRuntime
from eosfw.protocols import RestResponse
from eosfw_console.worker_client import WorkerClient
from eosfw_console.worker_requests import QUIET_FOR, WAIT, WorkerRequests


class Workers:
    """Workers that answer, or do not until they are thawed."""

    def __init__(self) -> None:
        self.frozen: set[str] = set()
        self.thawed = threading.Event()
        self.client = WorkerClient(self, {})
        self.clock = Clock(self)

    def __call__(self, method, target, body=b"", headers=None, *, worker=None) -> RestResponse:
        if worker in self.frozen and not self.thawed.wait(30):
            return RestResponse(503, b"")
        return RestResponse(200, worker.encode())


class Clock(ThreadRuntime):
    """Stands still but for waits in vain: so a worker is late that is frozen, and none that answers."""

    def __init__(self, workers: Workers) -> None:
        self._workers, self._now = workers, 0.0
        self.threads: list[Spawned] = []

    def asked(self, worker: str) -> int:
        """How often a worker was asked."""
        return [thread.name for thread in self.threads].count(f"console-{worker}")

    def now(self) -> float:
        return self._now

    def pass_by(self, seconds: float) -> None:
        self._now += seconds

    def spawn(self, name: str, target: Callable[[], None]) -> Spawned:
        self.threads.append(spawned := super().spawn(name, target))
        if name.removeprefix("console-") not in self._workers.frozen:
            spawned.join()
        return spawned

    def queue(self) -> Answers:
        return Answers(self)


class Answers:
    """A queue that knows at once that nothing will come."""

    def __init__(self, clock: Clock) -> None:
        self._clock, self._queue = clock, ThreadRuntime().queue()
        self.put = self._queue.put

    def get(self, timeout: float) -> Any:
        try:
            return self._queue.get(0.0)
        except TimeoutError:
            self._clock.pass_by(timeout)
            raise


@pytest.fixture
def workers():
    made = Workers()
    yield made
    made.thawed.set()


URLS = ["a", "b", "c", "d"]


def test_workers_that_do_not_answer_are_waited_for_together_and_once(workers):
    workers.frozen = {"a", "b", "c"}
    requests = WorkerRequests(workers.clock)

    first = requests.ask(workers.client, URLS, "/metrics")
    second = requests.ask(workers.client, URLS, "/metrics")

    assert first == second
    assert (first.texts, first.quiet) == ({"d": "d"}, ["a", "b", "c"])
    # One wait, where one after the other would take three, and the second page as many again.
    assert workers.clock.now() == WAIT
    assert workers.clock.asked("a") == 1

    workers.clock.pass_by(QUIET_FOR - WAIT)
    assert requests.ask(workers.client, URLS, "/metrics").quiet == ["a", "b", "c"]
    assert workers.clock.asked("a") == 2


def test_a_worker_that_answers_late_is_asked_again(workers):
    workers.frozen = {"a"}
    requests = WorkerRequests(workers.clock)
    assert requests.ask(workers.client, URLS, "/metrics").quiet == ["a"]

    workers.thawed.set()
    workers.frozen.clear()
    assert all(thread.join(30) for thread in workers.clock.threads)
    found = requests.ask(workers.client, URLS, "/metrics")

    assert list(found.texts.items()) == [(url, url) for url in URLS]


def test_a_worker_that_refuses_is_not_waited_for(workers):
    requests = WorkerRequests(workers.clock)
    client = WorkerClient(lambda *_, **__: RestResponse(503, b""), {})

    assert requests.ask(client, URLS, "/metrics").quiet == URLS
