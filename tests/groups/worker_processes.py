"""Groups of `eosfw worker` processes, and the proof that a topic lacks and repeats nothing."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, TopicPartition

from installation import install
from ports import free_port

WITHIN = 90.0
SETTINGS: Mapping[str, str] = {
    "exactly.once.source.support": "enabled",
    "session.timeout.ms": "6000",
    "heartbeat.interval.ms": "1000",
    "scheduled.rebalance.max.delay.ms": "0",
    "offset.storage.partitions": "5",
    **{f"{kind}.storage.replication.factor": "1" for kind in ("offset", "config", "status")},
}
PACED = Path(__file__).with_name("paced_connector.py")


class WorkerProcess:
    """One worker; it keeps its port when it is started again."""

    def __init__(self, folder: Path, properties: Mapping[str, str], backend: str, site: Path) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._file, self._log = folder / f"worker-{self.port}.properties", folder / f"worker-{self.port}.log"
        self._properties = {**properties, "listeners": self.url}
        self._command = [sys.executable, "-c", "import sys; from eosfw.cli import main; main(sys.argv[1:])"]
        self._command += ["worker", str(self._file), "--backend", backend]
        self._environment = {**os.environ, "PYTHONPATH": str(site)}
        self.start()

    def start(self, **changed: str) -> None:
        """Start the process, with properties changed."""
        self._properties.update({name.replace("_", "."): text for name, text in changed.items()})
        self._file.write_text("".join(f"{name}={text}\n" for name, text in self._properties.items()))
        tied = ["setpriv", "--pdeathsig", "KILL"] if shutil.which("setpriv") else []
        with self._log.open("ab") as log:
            self._process = subprocess.Popen([*tied, *self._command], stdout=log, stderr=log, env=self._environment)

    def stop(self) -> None:
        """SIGTERM: a clean end, which it must be."""
        self._process.send_signal(signal.SIGTERM)
        assert self._process.wait(WITHIN) == 0, self.log()

    def kill(self) -> None:
        self._process.kill()
        self._process.wait(WITHIN)

    def freeze(self) -> None:
        self._process.send_signal(signal.SIGSTOP)

    def wake(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def running(self) -> bool:
        return self._process.poll() is None

    def log(self) -> str:
        return self._log.read_text(errors="replace")[-4000:]


class WorkerGroup:
    """Workers of one group; requests go to any that answers."""

    def __init__(self, folder: Path, bootstrap_servers: str, group: str, backend: str, **changed: str) -> None:
        self.servers, self.group, self._folder, self._backend = bootstrap_servers, group, folder, backend
        own = {"bootstrap.servers": bootstrap_servers, "group.id": group}
        self._properties = {**SETTINGS, **own, **{name.replace("_", "."): text for name, text in changed.items()}}
        self._site = install(folder / "site", "paced", "[eosfw]\npaced = paced_connector\n", module=PACED)
        self.workers: list[WorkerProcess] = []

    def add(self, count: int = 1) -> None:
        """Start workers and wait until each of them answers."""
        new = [WorkerProcess(self._folder, self._properties, self._backend, self._site) for _ in range(count)]
        self.workers += new
        for worker in new:
            self.until(lambda worker=worker: self.ask("GET", "/connectors", worker=worker) is not None, "an answer")

    def close(self) -> None:
        for worker in self.workers:
            worker.kill()

    # --- requests

    def ask(self, method: str, path: str, body: object = None, worker: WorkerProcess | None = None) -> Any:
        """The answer of one worker, or of the first that gives one; None while there is none."""
        for one in self.workers if worker is None else [worker]:
            try:
                return _send(one.url, method, path, body)
            except (urllib.error.URLError, ConnectionError, TimeoutError):
                continue
        return None

    def configure(self, name: str, **config: object) -> None:
        body = {name.replace("_", "."): str(value) for name, value in config.items()}
        self.until(lambda: self.ask("PUT", f"/connectors/{name}/config", body), "the connector to be configured")

    def task_states(self, name: str) -> list[str]:
        status = self.ask("GET", f"/connectors/{name}/status") or {"tasks": []}
        return [task["state"] for task in status["tasks"]]

    def owners(self, name: str) -> list[str]:
        status = self.ask("GET", f"/connectors/{name}/status") or {"tasks": []}
        return [task["worker_id"] for task in status["tasks"] if task["state"] == "RUNNING"]

    def until_running(self, name: str, tasks: int) -> None:
        alive = {worker.url.removeprefix("http://") for worker in self.workers if worker.running()}
        self.until(
            lambda: len(self.owners(name)) == len(self.task_states(name)) == tasks and set(self.owners(name)) <= alive,
            f"{tasks} running tasks",
        )

    def leader(self) -> WorkerProcess:
        """The worker that said last that it leads."""
        leads = [one for one in self.workers if one.running() and _leads(one.log())]
        assert leads, self.logs()
        return leads[0]

    def until(self, happened: Callable[[], object], what: str) -> None:
        deadline = time.monotonic() + WITHIN
        while not happened():
            assert time.monotonic() < deadline, f"waited {WITHIN:g} s for {what}; {self.logs()}"
            time.sleep(0.1)

    def logs(self) -> str:
        return "\n".join(f"{worker.url}:\n{worker.log()}" for worker in self.workers)


def _send(url: str, method: str, path: str, body: object) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url + path, data, {"Content-Type": "application/json"}, method=method)
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.loads(answer.read() or b"true")


def _leads(log: str) -> bool:
    said = [line for line in log.splitlines() if line.startswith("leads the group")]
    return bool(said) and said[-1] == "leads the group"


class Counts:
    """The numbers of each stream as they are committed; `read` takes in what is new."""

    def __init__(self, servers: str, topic: str) -> None:
        self.streams: dict[str, list[int]] = {}
        self._consumer = Consumer(
            {
                "bootstrap.servers": servers,
                "group.id": "readers",
                "isolation.level": "read_committed",
                "enable.auto.commit": False,
                "log_level": 0,
            }
        )
        self._consumer.assign([TopicPartition(topic, 0, 0)])

    def read(self) -> int:
        """Read for a while; return how many numbers there are by now."""
        for message in self._consumer.consume(10_000, 0.3):
            if message.error() is None:
                name, number = message.value().decode().split(":")
                self.streams.setdefault(name, []).append(int(number))
        return sum(map(len, self.streams.values()))

    def close(self) -> None:
        self._consumer.close()

    def assert_each_once(self) -> None:
        """Each stream counts from zero, in order, without a gap or a repeat."""
        for name, numbers in self.streams.items():
            wrong = next((at for at, number in enumerate(numbers) if number != at), None)
            assert wrong is None, f"stream {name} goes on with {numbers[wrong : wrong + 5]} instead of {wrong}"
