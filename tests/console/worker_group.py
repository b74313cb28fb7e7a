"""Workers with the console, each a process of its own that can be frozen, killed and started again."""

from __future__ import annotations

import http.client
import json
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ports import free_port

WITHIN = 120.0
"""Seconds for what a group does by itself: far more than any start or session takes."""
SESSION = 6.0
"""Seconds after which a worker that is frozen is no member any more."""
_MAIN = (sys.executable, "-c", "from eosfw.cli.entry import main; main()")


class ConsoleWorker:
    """`eosfw worker` with the console, at an address that stays."""

    def __init__(self, file: Path, properties: dict[str, str]) -> None:
        self.address = f"127.0.0.1:{free_port()}"
        self.url = f"http://{self.address}"
        self._file = file
        given = {"listeners": self.url, "rest.extension.classes": "console", **properties}
        file.write_text("".join(f"{name}={value}\n" for name, value in given.items()))
        self.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def start(self) -> None:
        """Start it, again after it was killed."""
        with self._file.with_suffix(".txt").open("a") as said:
            command = [*_MAIN, "worker", str(self._file), "--backend", "memory"]
            self._process = subprocess.Popen(command, stdout=said, stderr=said, cwd=self._file.parent)

    def freeze(self) -> None:
        """Stop it in the middle of whatever it does."""
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def call(self, target: str, method: str = "GET", body: object = None) -> Any:
        """The answer of its REST interface."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + target, data, {"Content-Type": "application/json"}, method=method)
        with urllib.request.urlopen(request, timeout=WITHIN) as answer:
            return json.loads(answer.read() or b"null")

    def read(self, path: str) -> str:
        """A page."""
        with urllib.request.urlopen(self.url + path, timeout=WITHIN) as answer:
            return answer.read().decode()

    def until(self, target: str, holds: Callable[[Any], bool]) -> Any:
        """Wait for an answer of which something holds; whoever is not ready yet is asked again."""
        deadline, last = time.monotonic() + WITHIN, None
        while time.monotonic() < deadline:
            try:
                last = self.call(target)
                if holds(last):
                    return last
            except (OSError, http.client.HTTPException) as why:
                last = why
            if self._process.poll() is not None:
                break
            time.sleep(0.1)
        said = self._file.with_suffix(".txt").read_text(errors="replace")[-3000:]
        raise AssertionError(f"{self.url}{target} did not get there: {last!r}\n{said}")


@contextmanager
def worker_group(servers: str, folder: Path, workers: int = 3, **properties: str) -> Iterator[Sequence[ConsoleWorker]]:
    """A group of workers that are all in; whatever still runs at the end is killed."""
    given = {
        "bootstrap.servers": servers,
        "group.id": "shop",
        "exactly.once.source.support": "enabled",
        "offset.storage.partitions": "1",
        "status.storage.partitions": "1",
        "session.timeout.ms": str(round(SESSION * 1000)),
        "heartbeat.interval.ms": "500",
        "scheduled.rebalance.max.delay.ms": "0",
        **properties,
    }
    group = [ConsoleWorker(folder / f"worker-{number}.properties", given) for number in range(workers)]
    try:
        all_in(group)
        yield group
    finally:
        for worker in group:
            worker.kill()


def all_in(group: Sequence[ConsoleWorker]) -> None:
    """Wait until each worker sees all of them, and nobody else, in a group at rest."""
    urls = {worker.url for worker in group}
    for worker in group:
        worker.until("/group", lambda found: _members(found) == urls and not found["rebalancing"])


def _members(found: Any) -> set[str]:
    return {one["url"] for one in found["workers"]}


def create_file_connector(worker: ConsoleWorker, folder: Path, name: str, state: str = "RUNNING", **more: str) -> Path:
    """A connector with one task that follows a file in the folder of the workers; returns the file."""
    path = folder / f"{name}.txt"
    path.write_text("one\n")
    config = {"connector.class": "file", "file": path.name, "topic": name, **more}
    body = {"name": name, "config": config, "initial_state": state}
    deadline = time.monotonic() + WITHIN
    while True:
        try:
            worker.call("/connectors", "POST", body)
        except urllib.error.HTTPError as why:
            # While the group rebalances.
            if why.code not in (409, 503) or time.monotonic() > deadline:
                raise
            time.sleep(0.1)
        else:
            return path
