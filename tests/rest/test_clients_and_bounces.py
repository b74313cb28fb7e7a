"""Fifty clients ask any worker of a group while its workers come and go."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Self

import pytest

from eosfw.concurrency import ThreadRuntime
from eosfw.observe import Announcer
from eosfw.registry import load_plugins
from eosfw.runtime import DistributedHerder, WorkerSetup, worker_config
from eosfw_rest.server import ConnectRestServer

from .conftest import LOOPBACK
from .raw_http import exchange, request

CLIENTS = 50
WRITERS = 4
PROPERTIES = {
    "group.id": "bounced",
    "listeners": LOOPBACK,
    "exactly.once.source.support": "enabled",
    "offset.storage.partitions": "1",
    "status.storage.partitions": "1",
    "session.timeout.ms": "6000",
    "heartbeat.interval.ms": "500",
    "scheduled.rebalance.max.delay.ms": "0",
}
MAY_BE = {200, 409, 503}
"""Answered; the group rebalances; the worker still starts, or stops."""
UNKNOWN = ("IO Error trying to forward", "The worker stops")


class Group:
    """Workers of one group in this process, each with a REST interface."""

    def __init__(self, undo: ExitStack) -> None:
        self._runtime, self._plugins, self._undo = ThreadRuntime(), load_plugins(), undo
        cluster = self._plugins.cluster("memory").start({}, self._runtime)
        undo.callback(cluster.close)
        self._servers = cluster.bootstrap_servers
        self.workers: dict[str, DistributedHerder] = {}
        self._ends: dict[str, ExitStack] = {}

    def start(self) -> str:
        """Start a worker; its address."""
        end = ExitStack()
        client = self._plugins.backend("memory").connect({"bootstrap.servers": self._servers}, self._runtime)
        end.callback(client.close)
        config = worker_config(PROPERTIES, ConnectRestServer)
        rest = ConnectRestServer.start(config, self._runtime)
        end.callback(rest.close)
        setup = WorkerSetup(
            config=config,
            backend=client,
            plugins=self._plugins,
            announce=Announcer(()),
            runtime=self._runtime,
            rest=rest,
        )
        herder = DistributedHerder(setup)
        end.callback(herder.stop, 2.0)
        # As `eosfw worker` does: what leaves answers no more.
        end.callback(rest.close)
        herder.start()
        address = rest.url.removeprefix("http://")
        self.workers[address], self._ends[address] = herder, end
        return address

    def stop(self, address: str) -> None:
        """Stop a worker cleanly."""
        del self.workers[address]
        self._ends.pop(address).close()

    def close(self) -> None:
        for address in list(self.workers):
            self.stop(address)


@pytest.fixture
def group() -> Iterator[Group]:
    with ExitStack() as undo:
        group = Group(undo)
        undo.callback(group.close)
        for _ in range(3):
            group.start()
        yield group


def any_of(group: Group, turn: int) -> str:
    addresses = list(group.workers)
    return addresses[turn % len(addresses)]


def until(look, wanted, patience: float = 90.0) -> None:
    deadline = time.monotonic() + patience
    while (found := look()) != wanted:
        assert time.monotonic() < deadline, f"{found!r} never became {wanted!r}"
        time.sleep(0.1)


class Clients:
    """Threads that ask until they are told to end."""

    def __init__(self, group: Group) -> None:
        self._group, self._ended = group, threading.Event()
        self.statuses: Counter[int] = Counter()
        self.written: dict[int, list[tuple[int, bool]]] = {number: [] for number in range(WRITERS)}
        """What each writer asked for, and whether it was told that it was done."""
        self._threads = [threading.Thread(target=self._ask, args=(number,)) for number in range(CLIENTS)]

    def _ask(self, number: int) -> None:
        turn = number
        while not self._ended.is_set():
            turn += 1
            try:
                status = self._write(number, turn) if number < WRITERS else self._read(number, turn)
            except (OSError, AssertionError):
                status = 0  # the worker has just ended
            self.statuses[status] += 1
            time.sleep(0.05)

    def _read(self, number: int, turn: int) -> int:
        path = ("/connectors", "/connectors?expand=status&expand=info", "/connectors/c0/status", "/")[number % 4]
        return exchange(any_of(self._group, turn), request("GET", path))[0]

    def _write(self, number: int, turn: int) -> int:
        asked = self.written[number]
        asked.append((turn, False))
        sent = json.dumps({"batch.size": str(turn)}).encode()
        status, answer = exchange(any_of(self._group, turn), request("PATCH", f"/connectors/c{number}/config", sent))
        asked[-1] = (turn, status == 200)
        # A worker ended with the request in its hands: nobody knows what became of it, and that is what is said.
        return 0 if status == 500 and answer["message"].startswith(UNKNOWN) else status

    def have_been_answered(self) -> bool:
        """Whether there is something to judge: enough answers, and of each writer a change that was acknowledged."""
        each = all(any(done for _, done in asked) for asked in self.written.values())
        return each and self.statuses[200] > CLIENTS

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join(120)


def test_answers_stay_true_while_workers_bounce(group, tmp_path):
    """No answer but those documented; a change that was acknowledged is the newest, or an unanswered one is."""
    (tmp_path / "lines.txt").write_text("one\n")
    for number in range(WRITERS):
        config = {"connector.class": "file", "file": str(tmp_path / "lines.txt"), "topic": f"lines-{number}"}
        sent = request("PUT", f"/connectors/c{number}/config", json.dumps(config).encode())
        until(lambda sent=sent: exchange(any_of(group, 0), sent)[0] in (200, 201), wanted=True)
    until(lambda: [state(group, number) for number in range(WRITERS)], ["RUNNING"] * WRITERS)

    with Clients(group) as clients:
        for _ in range(3):
            leaving = next(iter(group.workers))
            group.start()
            group.stop(leaving)
        until(clients.have_been_answered, wanted=True)

    assert set(clients.statuses) - {0} <= MAY_BE, clients.statuses
    for number, asked in clients.written.items():
        newest = [turn for turn, _ in asked[last_acknowledged(asked) :]]
        # A worker that follows may have read less of the config topic than the leader wrote.
        until(lambda number=number, newest=newest: batch_size(group, number) in newest, wanted=True)
    until(lambda: [state(group, number) for number in range(WRITERS)], ["RUNNING"] * WRITERS)


def last_acknowledged(asked: list[tuple[int, bool]]) -> int:
    return max(at for at, (_, done) in enumerate(asked) if done)


def batch_size(group: Group, number: int) -> int:
    found = exchange(any_of(group, number), request("GET", f"/connectors/c{number}/config"))
    return int(found[1]["batch.size"])


def state(group: Group, number: int) -> str:
    """The state of a connector's only task."""
    found = exchange(any_of(group, 0), request("GET", f"/connectors/c{number}/status"))[1]
    return "".join(task["state"] for task in found.get("tasks", []))
