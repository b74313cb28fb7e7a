"""A worker that does not answer holds up no page of the others (UIC-07)."""

from __future__ import annotations

import threading
import time

import pytest

from eosfw.concurrency import ThreadRuntime
from eosfw.protocols import RestResponse
from eosfw_console.worker_client import WorkerClient
from eosfw_console.worker_requests import QUIET_FOR, WAIT, WorkerRequests


class Clock(ThreadRuntime):
    """It can be set forward."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def now(self) -> float:
        return super().now() + self.ahead


class Workers:
    """Workers that answer, or do not until they are thawed."""

    def __init__(self) -> None:
        self.frozen: set[str] = set()
        self.thawed = threading.Event()
        self.asked: list[str] = []
        self.client = WorkerClient(self, {})

    def __call__(self, method, target, body=b"", headers=None, *, worker=None) -> RestResponse:
        self.asked.append(worker)
        if worker in self.frozen and not self.thawed.wait(30):
            return RestResponse(503, b"")
        return RestResponse(200, worker.encode())


@pytest.fixture
def workers():
    made = Workers()
    yield made
    made.thawed.set()


URLS = ["a", "b", "c", "d"]


def test_workers_that_do_not_answer_are_waited_for_together_and_once(workers):
    workers.frozen = {"a", "b", "c"}
    clock = Clock()
    requests = WorkerRequests(clock)

    began = time.monotonic()
    first = requests.ask(workers.client, URLS, "/metrics")
    second = requests.ask(workers.client, URLS, "/metrics")
    taken = time.monotonic() - began

    assert first == second
    assert (first.texts, first.quiet) == ({"d": "d"}, ["a", "b", "c"])
    # One wait, where one after the other would take three, and the second page as many again.
    assert WAIT <= taken < 2 * WAIT
    assert workers.asked.count("a") == 1

    clock.ahead = QUIET_FOR
    assert requests.ask(workers.client, URLS, "/metrics").quiet == ["a", "b", "c"]
    assert workers.asked.count("a") == 2


def test_a_worker_that_answers_late_is_asked_again(workers):
    workers.frozen = {"a"}
    requests = WorkerRequests(Clock())
    assert requests.ask(workers.client, URLS, "/metrics").quiet == ["a"]

    workers.thawed.set()
    deadline = time.monotonic() + 30
    while (found := requests.ask(workers.client, URLS, "/metrics")).quiet:
        assert time.monotonic() < deadline
        time.sleep(0.01)

    assert list(found.texts.items()) == [(url, url) for url in URLS]


def test_a_worker_that_refuses_is_not_waited_for():
    requests = WorkerRequests(Clock())
    client = WorkerClient(lambda *_, **__: RestResponse(503, b""), {})

    assert requests.ask(client, URLS, "/metrics").quiet == URLS
