"""Run Kafka Connect workers, and ask them by REST."""

from __future__ import annotations

import json
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from ports import free_port

from .java import Java, Program

T = TypeVar("T")
WITHIN = 60.0
LOOK_AGAIN = 0.1
"""Connect offers nothing to wait for: it is asked again."""

SETTINGS: Mapping[str, str] = {
    "key.converter": "org.apache.kafka.connect.storage.StringConverter",
    "value.converter": "org.apache.kafka.connect.storage.StringConverter",
    "exactly.once.source.support": "enabled",
    # A worker that stops answering is given up soon, its tasks go to another at once.
    "session.timeout.ms": "6000",
    "heartbeat.interval.ms": "500",
    "scheduled.rebalance.max.delay.ms": "0",
    "plugin.discovery": "service_load",
    "offset.storage.partitions": "5",
    **{f"{kind}.storage.replication.factor": "1" for kind in ("offset", "config", "status")},
}


def eventually(look: Callable[[], T], program: Program) -> T:
    """The first true answer; fail with the program's log when there is none in time."""
    deadline = time.monotonic() + WITHIN
    while time.monotonic() < deadline:
        if found := look():
            return found
        time.sleep(LOOK_AGAIN)
    raise AssertionError(f"waited {WITHIN:g} s in vain; the log ends with:\n{program.output()[-5000:]}")


def launch_eosfw(file: Path, backend: str = "confluent") -> Program:
    """`eosfw worker` with the same file that Kafka Connect reads."""
    code = "import sys; from eosfw.cli import main; main(sys.argv[1:])"
    return Program([sys.executable, "-c", code, "worker", str(file), "--backend", backend], file.with_suffix(".log"))


class Worker:
    """A worker of a group of distributed workers: Kafka Connect's, or what `launch` starts with its properties."""

    def __init__(
        self,
        java: Java,
        folder: Path,
        group: str,
        bootstrap_servers: str,
        launch: Callable[[Path], Program] | None = None,
    ) -> None:
        self.port = free_port()
        storage = {f"{kind}.storage.topic": f"{group}-{kind}" for kind in ("offset", "config", "status")}
        own = {"bootstrap.servers": bootstrap_servers, "group.id": group, "listeners": f"http://127.0.0.1:{self.port}"}
        file = folder / f"worker-{self.port}.properties"
        file.write_text("".join(f"{name}={value}\n" for name, value in {**SETTINGS, **storage, **own}.items()))
        self.program = java.start("connect-distributed", file) if launch is None else launch(file)

    def ready(self) -> None:
        """Wait until the worker answers as a member of its group."""
        self.eventually(lambda: self.try_ask("GET", "/connectors") is not None)

    def configure(self, connector: str, config: Mapping[str, object]) -> None:
        """Create a connector, or give it another configuration."""
        body = {name: str(value) for name, value in config.items()}
        self.eventually(lambda: self.try_ask("PUT", f"/connectors/{connector}/config", body))

    def restart_task(self, connector: str) -> None:
        self.ask("POST", f"/connectors/{connector}/tasks/0/restart")

    def running_on(self, connector: str) -> str | None:
        """The address of the worker that runs the only task, or None."""
        status = self.try_ask("GET", f"/connectors/{connector}/status") or {"tasks": []}
        running = [task["worker_id"] for task in status["tasks"] if task["state"] == "RUNNING"]
        return running[0] if running else None

    def failures(self, connector: str) -> list[str]:
        """Why its tasks failed; a failed task stays so until it is restarted."""
        status = self.try_ask("GET", f"/connectors/{connector}/status") or {"tasks": []}
        return [task["trace"] for task in status["tasks"] if task["state"] == "FAILED"]

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def eventually(self, look: Callable[[], T]) -> T:
        return eventually(look, self.program)

    def try_ask(self, method: str, path: str, body: object = None) -> Any:
        """The answer, or None while the worker is starting, rebalancing, or has none."""
        assert self.program.running(), self.program.output()
        try:
            return self.ask(method, path, body)
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            return None

    def ask(self, method: str, path: str, body: object = None) -> Any:
        request = urllib.request.Request(
            f"http://{self.address}{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.loads(answer.read() or b"true")
