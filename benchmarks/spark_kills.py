"""Kill Spark at random at every step of a micro-batch, then count what the exactly-once sink has written.

A writer keeps adding numbered records to a topic of three partitions, some in transactions that it aborts; a query
copies them with a computation, a few per batch, speculation on (off in mode `shared`), and is killed again and again.
Points of a kill: the driver before it plans, while tasks run, before it fences, publishes, commits, and before
Spark's own log of commits; an executor before it reads, writes and ends its task; and a commit that Spark's log has
lost. With `--prefetch` it is the driver that dies before it reads. A kill of the driver is SIGKILL of its process
that does the step, of every attempt of it until the query fails, which is then started again from its checkpoint in
the same JVM; for the share `--whole-driver`, of the JVM and all of its processes. In mode `parallel` the tasks
publish, so a driver's kill there meets all attempts of a task. In mode `shared` (`SharedTransactionSink`) the program
that started the query publishes: it is killed, and another one attaches to its JVM, in which tasks of the dead one may
still write. At the end a reader at read_committed counts duplicates, missing and foreign records, and those out of
order within their source partition. Prints one JSON object; the exit code is 1 if any count is above 0.

The long run:

    uv run python benchmarks/spark_kills.py --kills 1000 --seed 14 --minutes 60 --whole-driver 0.02
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from benchmark import ContenderError, run_main, scaled, show
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from embedded_broker import embedded_process
from kill_switch import FOLDER_VARIABLE, SHARED, Kill, KillFolder, Victim, install

from pytest_eos.environment.processes import os_processes

PARTITIONS, PER_BATCH, AHEAD = 3, 60, 300
INPUT, OUTPUT = "kills-input", "kills-output"
DRIVER = {
    "driver: plan": "batch:plan",
    "driver: tasks": "batch:write",
    "driver: fence": "batch:fence",
    "driver: publish": "batch:publish",
    "driver: commit": "batch:commit",
    "driver: committed": "batch:committed",
}
IN_DRIVER = {"batch:fence", "batch:publish", "batch:commit", "batch:committed"}
"""What `SharedTransactionSink` does in the program that started the query."""
EXECUTOR = {"executor: write": "batch:write", "executor: staged": "batch:staged"}
READ = "batch:read"
LOST_COMMIT = "lost commit"
LOOK, PATIENCE, LAST = 0.02, 60.0, 300.0


class Writer:
    """Adds records that say their partition and number, three partitions in a transaction."""

    def __init__(self, servers: str, seed: int) -> None:
        self._random = random.Random(seed)
        self._producer = Producer({"bootstrap.servers": servers, "transactional.id": "kills-writer", "log_level": 2})
        self._producer.init_transactions(PATIENCE)
        self.written, self.offsets, self.aborted = [0] * PARTITIONS, 0, 0

    def add(self) -> None:
        """One transaction; of five, one is aborted."""
        aborts, sizes = self._random.random() < 0.2, [self._random.randint(1, 10) for _ in range(PARTITIONS)]
        self._producer.begin_transaction()
        for partition, size in enumerate(sizes):
            for number in range(self.written[partition], self.written[partition] + size):
                value = f"{partition}:{number}{':aborted' * aborts}"
                self._producer.produce(INPUT, value, partition=partition)
        if aborts:
            self._producer.flush(PATIENCE)
            self._producer.abort_transaction(PATIENCE)
            self.aborted += 1
        else:
            self._producer.commit_transaction(PATIENCE)
            self.written = [before + size for before, size in zip(self.written, sizes, strict=True)]
        self.offsets += sum(sizes) + PARTITIONS


class QueryProcess:
    """The driver's process with all that it starts; with `kept`, a JVM that outlives it is in another process."""

    def __init__(self, folder: KillFolder, path: str, *, kept: bool) -> None:
        self._folder, self._kept = folder, kept
        self._environment = {**os.environ, FOLDER_VARIABLE: str(folder.path), "PYTHONPATH": path}
        self._environment["TMPDIR"] = str(folder.path)
        self.start()

    def start(self) -> None:
        """Start a driver on the checkpoint, with a JVM."""
        self._keeper = self._run("--keep") if self._kept else None
        self._process = self._run()

    def replace_program(self) -> None:
        """Start another program in the place of one that was killed, in the same JVM."""
        self._process.wait(PATIENCE)
        self._process = self._run()

    def _run(self, *options: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, str(Path(__file__).with_name("killed_query.py")), *options]
        with (self._folder.path / "log").open("ab") as log:
            return subprocess.Popen(command, stdout=log, stderr=log, env=self._environment)

    def ended(self) -> str | None:
        """What it said last, if it has ended."""
        if all(each.poll() is None for each in (self._process, self._keeper) if each is not None):
            return None
        said = (self._folder.path / "log").read_text(errors="replace").strip().splitlines()
        return said[-1] if said else str(self._process.returncode)

    def processes(self) -> list[int]:
        """Of the driver, its JVM, its executors and its Python workers."""
        return os_processes.with_variable(FOLDER_VARIABLE, str(self._folder.path))

    def kill(self) -> None:
        """Kill them all, without a word."""
        deadline = time.monotonic() + PATIENCE
        mine = [each for each in (self._process, self._keeper) if each is not None]
        while (left := self.processes()) and time.monotonic() < deadline:
            os_processes.send(signal.SIGKILL, left)
            for each in mine:
                each.poll()
            time.sleep(LOOK)
        for each in mine:
            each.wait(PATIENCE)
        (self._folder.path / "gateway").unlink(missing_ok=True)


@dataclass
class Tally:
    """What became of the kills."""

    fired: Counter[str] = field(default_factory=Counter)
    unfired: Counter[str] = field(default_factory=Counter)
    not_begun: int = 0
    whole_drivers: int = 0
    took: list[float] = field(default_factory=list)


class Kills:
    """Fires one kill after the other; the writer keeps a little ahead of the query."""

    def __init__(self, folder: KillFolder, query: QueryProcess, writer: Writer, given: argparse.Namespace) -> None:
        self._folder, self._query, self._writer, self._given = folder, query, writer, given
        self._random = random.Random(given.seed)
        self._offsets = folder.path / "checkpoint" / "offsets"
        self._steps = {**DRIVER, "driver: read" if given.prefetch else "executor: read": READ, **EXECUTOR}
        self.points = [*self._steps, LOST_COMMIT]
        self.tally = Tally()

    def run(self) -> None:
        """As many kills as asked for, in the time given, once the first batch is published."""
        if not self._await(lambda: self._folder.counted("published") > 0, LAST):
            raise ContenderError(f"no batch was published within {LAST:g} s: {self._folder.read('error')}")
        until = time.monotonic() + self._given.minutes * 60
        for number in range(1, self._given.kills + 1):
            point, whole = self._random.choice(self.points), self._random.random() < self._given.whole_driver
            if time.monotonic() > until:
                self.tally.not_begun = self._given.kills + 1 - number
                break
            began = time.monotonic()
            fired = self._lose(number) if point == LOST_COMMIT else self._kill(number, point, whole=whole)
            (self.tally.fired if fired else self.tally.unfired)[point] += 1
            self.tally.took.append(time.monotonic() - began)

    def drain(self) -> None:
        """Let the query read to the end."""
        self._folder.write("drain", True)
        if not self._await(lambda: self._folder.read("drained") is not None, LAST, writes=False):
            raise ContenderError(f"the query did not reach the end within {LAST:g} s: {self._folder.read('error')}")

    def _kill(self, number: int, point: str, *, whole: bool) -> bool:
        kill = Kill(number, self._steps[point], self._victim(point, whole=whole).value)
        starts, published = self._folder.counted("starts"), self._outcomes()
        self._folder.arm(kill)
        if kill.step == "batch:fence" and self._given.mode != SHARED:
            self._end_committer()
        fired = self._await(lambda: self._folder.has_fired(kill))
        if fired and kill.victim == Victim.DRIVER.value:
            self._query.kill()
            self.tally.whole_drivers += 1
            self._folder.arm(None)
            self._query.start()
        if fired and kill.victim == Victim.PROGRAM.value:
            self._folder.arm(None)
            self._query.replace_program()
        if fired and kill.victim not in (Victim.PROCESS.value, Victim.EXECUTOR.value):
            self._await(lambda: self._folder.counted("starts") > starts)
        self._folder.arm(None)
        # The next kill meets a query that works again.
        return self._await(lambda: self._outcomes() > published) and fired

    def _lose(self, number: int) -> bool:
        """Fired if the batch whose commit was lost is skipped by its token."""
        self._folder.write("lose", number)
        if not self._await(lambda: self._folder.read("lost")["number"] == number, writes=False):
            return False
        skipped = self._folder.read("lost")["skipped"]
        return self._await(lambda: self._folder.counted("skipped") > skipped)

    def _victim(self, point: str, *, whole: bool) -> Victim:
        if point.startswith("executor"):
            return Victim.EXECUTOR if self._given.cluster else Victim.PROCESS
        if whole:
            return Victim.DRIVER
        own = self._given.mode == SHARED and self._steps[point] in IN_DRIVER
        return Victim.PROGRAM if own else Victim.EVERY_ATTEMPT

    def _end_committer(self) -> None:
        """A process that publishes fences before its first batch alone, so another one has to take over."""
        committer = self._folder.read("committer")
        os_processes.send(signal.SIGKILL, {committer} & set(self._query.processes()))

    def _outcomes(self) -> int:
        return self._folder.counted("published") + self._folder.counted("skipped")

    def _await(self, happened: Callable[[], bool], seconds: float = PATIENCE, *, writes: bool = True) -> bool:
        deadline = time.monotonic() + seconds
        while not happened():
            ended = self._query.ended()
            if ended is not None and not happened():
                raise ContenderError(f"the driver ended: {ended}")
            if time.monotonic() > deadline:
                return False
            if writes and self._writer.offsets < self._planned() * PER_BATCH + AHEAD:
                self._writer.add()
            time.sleep(LOOK)
        return True

    def _planned(self) -> int:
        names = os.listdir(self._offsets) if self._offsets.exists() else []
        return max((int(name) + 1 for name in names if name.isdecimal()), default=0)


def read_committed(servers: str) -> Iterator[tuple[int, str]]:
    """The partition and the value of each record that readers see."""
    settings = {"bootstrap.servers": servers, "group.id": "kills", "isolation.level": "read_committed"}
    reader = Consumer({**settings, "enable.partition.eof": True, "enable.auto.commit": False})
    reader.assign([TopicPartition(OUTPUT, partition, 0) for partition in range(PARTITIONS)])
    left, deadline = PARTITIONS, time.monotonic() + LAST
    while left:
        if time.monotonic() > deadline:
            raise ContenderError("the output could not be read to its end: a transaction stayed open")
        for message in reader.consume(1_000, 0.1):
            if message.error() is None:
                yield message.partition(), message.value().decode()
            elif message.error().code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 its public name
                left -= 1
    reader.close()


def judge(records: Iterator[tuple[int, str]], written: list[int]) -> Mapping[str, int]:
    """Duplicates, missing, foreign and disordered records."""
    expected = {
        f"{value}|{zlib.crc32(value.encode())}": (partition, number)
        for partition, count in enumerate(written)
        for number in range(count)
        for value in [f"{partition}:{number}"]
    }
    seen: Counter[str] = Counter()
    last, foreign, disordered = [-1] * PARTITIONS, 0, 0
    for partition, value in records:
        source, number = expected.get(value, (-1, -1))
        foreign += source != partition
        if source == partition:
            seen[value] += 1
            disordered += number < last[partition]
            last[partition] = max(last[partition], number)
    duplicates = seen.total() - len(seen)
    missing = len(expected) - len(seen)
    return {"duplicates": duplicates, "missing": missing, "foreign": foreign, "out of order": disordered}


@contextmanager
def cluster(servers: str | None) -> Iterator[str]:
    """The given cluster, or an embedded broker in a process of its own, with the topics."""
    if servers is None:
        with embedded_process() as own, cluster(own) as made:
            yield made
        return
    admin = AdminClient({"bootstrap.servers": servers})
    for created in admin.create_topics([NewTopic(name, PARTITIONS, 1) for name in (INPUT, OUTPUT)]).values():
        created.result(PATIENCE)
    yield servers


def measure(servers: str, given: argparse.Namespace, path: Path) -> Mapping[str, object]:
    """Run it all; what was counted."""
    folder, began, kept = KillFolder(path), time.monotonic(), given.mode == SHARED
    sink = {"mode": given.mode, **({"writers": str(PARTITIONS)} if given.mode == "parallel" else {})}
    master = "local-cluster[2,1,1024]" if given.cluster else "local[2,4]"
    about = {"servers": servers, "input": INPUT, "output": OUTPUT, "sink": sink}
    source = {"maxOffsetsPerTrigger": PER_BATCH, "prefetchOffsets": PER_BATCH if given.prefetch else 0}
    folder.write("lost", {"number": 0, "skipped": 0})
    about |= {"source": source, "master": master, "checkpoint": str(path / "checkpoint"), "kept": kept}
    folder.write("query", about)
    writer, query = Writer(servers, given.seed), QueryProcess(folder, install(path / "site"), kept=kept)
    try:
        kills = Kills(folder, query, writer, given)
        kills.run()
        kills.drain()
    finally:
        query.kill()
    tally = kills.tally
    return {
        "mode": given.mode,
        "kills": tally.fired.total(),
        "by point": {point: tally.fired[point] for point in kills.points},
        "whole drivers": tally.whole_drivers,
        "asked for, never fired": dict(tally.unfired),
        "not begun in time": tally.not_begun,
        "starts of the query": folder.counted("starts"),
        "records": sum(writer.written),
        "aborted transactions": writer.aborted,
        "published": folder.counted("published"),
        "skipped": folder.counted("skipped"),
        "seconds": round(time.monotonic() - began),
        "seconds of a kill": round(sum(tally.took) / max(1, len(tally.took)), 2),
        **judge(read_committed(servers), writer.written),
    }


def row(found: Mapping[str, object]) -> str:
    """The line of a table."""
    shown = ("mode", "kills", "whole drivers", "starts of the query", "records", "seconds", "duplicates", "missing")
    return "| " + " | ".join(f"{found[name]:,}" if name != "mode" else str(found[name]) for name in shown) + " |"


def main() -> int:
    """Print one JSON object; 1 if a record is not there once."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=scaled(1_000, least=3))
    parser.add_argument("--seed", type=int, default=14)
    parser.add_argument("--minutes", type=float, default=60.0, help="no kill begins later")
    parser.add_argument("--mode", choices=("atomic", "parallel", SHARED), default="atomic")
    parser.add_argument("--whole-driver", type=float, default=0.0, help="share of a driver's kills that end its JVM")
    parser.add_argument("--prefetch", action="store_true", help="batches are read beside the driver, not in tasks")
    parser.add_argument("--cluster", action="store_true", help="two executor processes, whose JVMs are killed")
    parser.add_argument("--bootstrap-servers", help="a cluster without topics of these names; else one is started")
    given = parser.parse_args()
    folder = tempfile.TemporaryDirectory(prefix="spark-kills-", ignore_cleanup_errors=True)
    with folder as name, cluster(given.bootstrap_servers) as servers:
        found = measure(servers, given, Path(name))
    show({**found, "row": row(found)})
    return int(any(found[name] for name in ("duplicates", "missing", "foreign", "out of order")))


if __name__ == "__main__":
    run_main(main)
