"""Measure what a group of three workers costs as its connectors become many: 100, 1,000, 5,000.

Connectors `file` with a task each, whose files hold one line; three workers (`eosfw worker`) and an embedded broker
are processes of their own. For each number of connectors: the time of each POST, the time from the first of them
until all tasks run, what each process uses when nothing happens, and what a listing with `expand` takes. Then one
worker that does not lead is killed by SIGKILL: the time until all tasks run again, and how many of those started anew
that the other two workers had already. `--kill leader` kills the leader instead. `--peer` does the same to three
workers of Kafka Connect with as many FileStreamSource connectors, on a real Kafka. Prints one JSON object; 100 and
1,000 take a few minutes.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import re
import statistics
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from benchmark import ContenderError, run_main, scaled, show
from confluent_kafka import Consumer, TopicPartition
from connector_rate import create, kafka
from contenders import started

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from clients.connect import Worker, launch_eosfw
from clients.java import Java, Program
from eosfw.ids import ConnectorTaskId
from eosfw.state.storage.status_records import ReportedStatus, StatusLog

WORKERS = 3
SESSION = 10.0
"""`session.timeout.ms` of every worker, in seconds, by default in both."""
JAVA = ("-Xmx2g", "-Dorg.slf4j.simpleLogger.log.org.apache.kafka.connect.runtime.distributed.DistributedHerder=info")
"""For each worker of Kafka Connect: hundreds of producers need more memory, and its log must tell who leads."""
WITHIN = 600.0
EOSFW = Path(sys.executable).with_name("eosfw")
GOALS = {
    "post_ms": 15,
    "leader_above_others_points": 2,
    "percent_of_a_core_for_1000_idle_tasks": 10,
    "running_again_s": SESSION + 15,
    "restarted_needlessly": 0,
    "lost_the_group": 0,
}
_LOST = re.compile(
    "has heard nothing of its group|was put out of its group|went on without this worker"
    "|session timed out without receiving"
)
"""What a worker says when its heartbeats came too late."""


class Statuses:
    """The status topic of a group, read again and again: it costs the workers nothing."""

    def __init__(self, servers: str, topic: str) -> None:
        self._log = StatusLog()
        self.running: dict[ConnectorTaskId, str] = {}
        """The worker of each task whose last state is RUNNING."""
        self.reports: list[tuple[ConnectorTaskId, ReportedStatus]] = []
        """What was reported of tasks since it was emptied."""
        self._consumer = Consumer({"bootstrap.servers": servers, "group.id": "statuses", "log_level": 0})
        count = len(self._consumer.list_topics(topic, 30).topics[topic].partitions)
        self._consumer.assign([TopicPartition(topic, number, 0) for number in range(count)])

    def read(self) -> None:
        for message in self._consumer.consume(10_000, 0.1):
            if message.error() is None and (message.key() or b"").startswith(b"status-task-"):
                self._apply(message.key(), message.value())

    def _apply(self, key: bytes, value: bytes | None) -> None:
        self._log.apply(key, value)
        connector, _, number = key.decode().removeprefix("status-task-").rpartition("-")
        task = ConnectorTaskId(connector, int(number))
        status = self._log.tasks.get(connector, {}).get(task)
        self.running.pop(task, None)
        if status is not None:
            self.reports.append((task, status))
            if status.state == "RUNNING":
                self.running[task] = status.worker_id

    def until(self, happened: Callable[[], bool], what: str) -> float:
        """Read until it happened; return when that was."""
        deadline = time.monotonic() + WITHIN
        while not happened():
            if time.monotonic() > deadline:
                raise ContenderError(f"waited {WITHIN:g} s for {what}; {len(self.running)} tasks run")
            self.read()
        return time.monotonic()

    def close(self) -> None:
        self._consumer.close()


class Process:
    """What a process has used so far."""

    def __init__(self, program: Program) -> None:
        self.id = program._process.pid  # noqa: SLF001

    def cpu(self) -> float:
        fields = Path(f"/proc/{self.id}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def megabytes(self) -> float:
        (rss,) = re.findall(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{self.id}/status").read_text())
        return round(int(rss) * 1024 / 1e6, 1)


class Group:
    """Three workers with their connectors."""

    def __init__(self, workers: Sequence[Worker], name: str, servers: str, folder: Path) -> None:
        self.workers, self._name, self._folder = workers, name, folder
        self.leader = workers[0].eventually(self._find_leader)
        self.statuses = Statuses(servers, f"{name}-status")

    def _find_leader(self) -> Worker | None:
        """The worker that said last that it leads; Kafka Connect's say who leads in each line about an assignment."""
        for worker in self.workers:
            said = worker.program.output()
            if re.findall(r"leads the group.*", said)[-1:] == ["leads the group"]:
                return worker
            if found := re.findall(r"leaderUrl='(.*?)/?'", said):
                return next(one for one in self.workers if one.address == found[-1].partition("://")[2])
        return None

    def create(self, count: int) -> list[float]:
        """POST so many connectors, one after the other; seconds of each."""
        connection = http.client.HTTPConnection(self.leader.address, timeout=90)
        taken = []
        for number in range(count):
            path = self._folder / f"{self._name}-{number}.txt"
            path.write_text("one line\n")
            config = {"connector.class": "FileStreamSource", "tasks.max": "1", "file": str(path), "topic": self._name}
            body = json.dumps({"name": f"lines-{number}", "config": config})
            began = time.perf_counter()
            while (status := self._post(connection, body)) == 409:  # while Kafka Connect rebalances
                time.sleep(0.01)
            taken.append(time.perf_counter() - began)
            if status != 201:
                raise ContenderError(f"POST /connectors answered {status}")
        connection.close()
        return taken

    def _post(self, connection: http.client.HTTPConnection, body: str) -> int:
        connection.request("POST", "/connectors", body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        answer.read()
        return answer.status

    def listing(self) -> dict[str, float]:
        connection = http.client.HTTPConnection(self.workers[0].address, timeout=90)
        began = time.perf_counter()
        connection.request("GET", "/connectors?expand=status&expand=info")
        size = len(connection.getresponse().read())
        taken = time.perf_counter() - began
        connection.close()
        return {"seconds": round(taken, 3), "kilobytes": round(size / 1000)}

    def at_rest(self, seconds: float) -> dict[str, Any]:
        """Percent of a core that each worker uses while nothing happens, and its memory."""
        processes = {worker: Process(worker.program) for worker in self.workers if worker.program.running()}
        before = {worker: process.cpu() for worker, process in processes.items()}
        time.sleep(seconds)
        used = {worker: (process.cpu() - before[worker]) / seconds * 100 for worker, process in processes.items()}
        others = [share for worker, share in used.items() if worker is not self.leader]
        return {
            "leader_percent": round(used[self.leader], 1),
            "others_percent": [round(share, 1) for share in others],
            "leader_above_others_points": round(used[self.leader] - statistics.mean(others), 1),
            "all_percent": round(sum(used.values()), 1),
            "megabytes": [process.megabytes() for process in processes.values()],
        }

    def kill(self, count: int, which: str) -> dict[str, Any]:
        """Kill a worker; when all tasks run again, and what was started anew though its worker was alive."""
        victim = self.leader if which == "leader" else next(one for one in self.workers if one is not self.leader)
        self.statuses.read()
        before = dict(self.statuses.running)
        moved = {task for task, owner in before.items() if owner == victim.address}
        self.statuses.reports.clear()
        killed = time.monotonic()
        victim.program.kill()
        again = self.statuses.until(
            lambda: len(self.statuses.running) == count and victim.address not in self.statuses.running.values(),
            "the tasks to run again",
        )
        time.sleep(min(SESSION, scaled(6)))
        self.statuses.read()
        stayed = {task for task, _ in self.statuses.reports} - moved
        return {
            "moved": len(moved),
            "running_again_s": round(again - killed, 1),
            "restarted_needlessly": len(stayed),
        }

    def lost(self) -> int:
        """How often a worker was late for its group."""
        return sum(len(_LOST.findall(worker.program.output())) for worker in self.workers)


def launched(file: Path, java: Java | None, backend: str) -> Program:
    """A worker by its properties: Kafka Connect's if there is Java, else of eosfw."""
    text = re.sub("(?m)^session.timeout.ms=.*", f"session.timeout.ms={SESSION * 1000:.0f}", file.read_text())
    file.write_text(re.sub("(?m)^heartbeat.interval.ms=.*", "heartbeat.interval.ms=3000", text))
    if java is None:
        return launch_eosfw(file, backend)
    program, *rest = (part for part in java.command("connect-distributed", file) if not part.startswith("-Xmx"))
    return Program([program, *JAVA, *rest], file.with_suffix(".log"))


@contextmanager
def group(java: Java | None, servers: str, folder: Path, backend: str) -> Iterator[Group]:
    folder.mkdir()
    name = f"scale-{uuid.uuid4().hex[:8]}"
    create(servers, name)
    with ExitStack() as stack:
        workers = []
        for _ in range(WORKERS):
            workers.append(Worker(java, folder, name, servers, lambda file: launched(file, java, backend)))
            stack.callback(workers[-1].program.kill)
        for worker in workers:
            worker.ready()
        made = Group(workers, name, servers, folder)
        stack.callback(made.statuses.close)
        yield made


def measured(java: Java | None, servers: str, folder: Path, count: int, given: argparse.Namespace) -> Any:
    with group(java, servers, folder, given.backend) as workers:
        began = time.monotonic()
        used = sum(Process(worker.program).cpu() for worker in workers.workers)
        posts = [seconds * 1000 for seconds in workers.create(count)]
        posted = time.monotonic()
        running = workers.statuses.until(lambda: len(workers.statuses.running) == count, "the tasks to run")
        time.sleep(scaled(given.settle_seconds))
        used = sum(Process(worker.program).cpu() for worker in workers.workers) - used
        edge = max(1, count // 10)
        found = {
            "post_ms": {
                "median": round(statistics.median(posts), 1),
                "first_tenth": round(statistics.median(posts[:edge]), 1),
                "last_tenth": round(statistics.median(posts[-edge:]), 1),
                "worst": round(max(posts), 1),
            },
            "posted_s": round(posted - began, 1),
            "running_s": round(running - began, 1),
            "processor_ms_per_connector": round(used / count * 1000, 1),
            "at_rest": workers.at_rest(scaled(given.idle_seconds)),
            "listing": workers.listing(),
            "after_sigkill": workers.kill(count, given.kill),
            "lost_the_group": workers.lost(),
        }
        print(json.dumps({"connectors": count, **found}), file=sys.stderr)
        return found


@contextmanager
def broker() -> Iterator[str]:
    """An embedded broker, a process of its own."""
    with started("eosfw broker", str(EOSFW), "broker", "--listen", "127.0.0.1:0") as running:
        yield running.address()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--connectors", type=int, nargs="+", default=[scaled(100, 6), scaled(1_000, 6)])
    parser.add_argument("--backend", default="memory")
    parser.add_argument("--idle-seconds", type=float, default=20)
    parser.add_argument("--settle-seconds", type=float, default=15, help="between the start and the rest")
    parser.add_argument("--kill", choices=("follower", "leader"), default="follower")
    parser.add_argument("--peer", action="store_true", help="measure Kafka Connect as well")
    given = parser.parse_args()
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        for count in dict.fromkeys(given.connectors):
            with broker() as servers:
                at = Path(folder, f"eosfw-{count}")
                found.setdefault("eosfw", {})[count] = measured(None, servers, at, count, given)
            if given.peer:
                with kafka() as servers:
                    java, at = Java(Path(folder)), Path(folder, f"kafka-connect-{count}")
                    found.setdefault("kafka-connect", {})[count] = measured(java, servers, at, count, given)
    show({**found, "goals": GOALS})
    return 0


if __name__ == "__main__":
    run_main(main)
