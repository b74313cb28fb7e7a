"""Measure eosfw's connector for PostgreSQL beside Debezium's, which runs in a Kafka Connect with exactly-once support.

Both read the same PostgreSQL 18 into the same real Kafka in turn, each with a slot, a publication and a topic of its
own, polls of at most 8,192 changes, `transaction.boundary=poll`, a JsonConverter without schemas. A run of a contender
has these parts, which `--parts` chooses:

- `snapshot`: `--rows` rows of 8 columns, from the first record in the log to the last one visible;
- `backlog`: `--changes` rows that were inserted while it was stopped, in transactions of `--per-transaction`;
- `single`: single inserts, from the return of their commit to the record at a reader that waits for it;
- `paused`: the same, a tenth of them, with 0.35 to 1.75 s before each insert;
- `rate`: `--rate` transactions of one insert a second for `--seconds`, from the time of the commit that the record has;
- `memory`: that of the worker's processes behind all these.

`whole` is the same rate with the start of the connector in it: Kafka Connect is warm, eosfw a new process. With
`overlap` eosfw polls while the transaction before commits (`transaction.commit.overlap`). `--flat N` instead inserts N
rows in all, a million at a time, beside one eosfw, and shows its memory behind each million. Prints one JSON object
with the best figures and their ratios; what each run found goes to stderr.
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import psutil
from benchmark import SCALE, ContenderError, run_main, scaled, show
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient
from connect_peer import Connect, connect
from connector_rate import Ends, create, kafka
from debezium_peer import PLUGIN, USER, Debezium, Postgres, postgres

from ports import free_ports

PARTS = ("snapshot", "backlog", "single", "paused", "rate", "memory")
PERIOD, SETTLED, LATEST, CHECK_PERIOD = 0.01, 1.5, 300.0, 1.0
PAUSE = 0.35
STEP = 1_000_000
CREATE = (
    "CREATE TABLE orders (id bigint PRIMARY KEY, name text, street text, amount numeric(12,2), paid boolean, "
    "at timestamptz, kind int, note text)"
)
INSERT = (
    "INSERT INTO orders SELECT g, 'customer ' || g, 'street ' || g % 1000, g * 1.5, g % 2 = 0, now(), g % 100, "
    "md5(g::text) FROM generate_series({}, {}) AS g"
)
SINGLE = "INSERT INTO orders VALUES (nextval('ids'), 'customer', 'street', 1.5, true, now(), 7, md5(random()::text));\n"
PIPELINE = {
    "worker": {
        "key.converter": "json",
        "key.converter.schemas.enable": "false",
        "value.converter": "json",
        "value.converter.schemas.enable": "false",
        "header.converter": "simple",
    },
    "connectors.orders": {
        "connector.class": "postgres",
        "max.batch.size": "8192",
        "eosfw.identity": "none",
        "producer.override.linger.ms": "5",
        "producer.override.batch.size": "262144",
    },
}


class Contender(Protocol):
    """A connector that can be stopped and started."""

    process: int

    def start(self) -> None: ...
    def check(self) -> None: ...
    def stop(self) -> None: ...
    def close(self) -> None: ...


class Eosfw:
    """A worker process with one connector."""

    def __init__(self, servers: str, name: str, properties: dict[str, str]) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self._path = Path(self._folder.name, "pipeline.toml")
        cluster = {"backend": "confluent", "bootstrap.servers": servers}
        worker = PIPELINE["worker"] | {"group.id": name}
        connector = PIPELINE["connectors.orders"] | properties
        sections = {"cluster": cluster, "worker": worker, "connectors.orders": connector}
        self._path.write_text("".join(_section(name, entries) for name, entries in sections.items()))
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def process(self) -> int:
        """The process of the worker."""
        assert self._process is not None, "it was started"
        return self._process.pid

    def start(self) -> None:
        """Start it where it stopped."""
        command = [str(Path(sys.executable).with_name("eosfw")), "run", "--follow", "--quiet", "--json"]
        with Path(self._folder.name, "errors").open("wb") as errors:
            self._process = subprocess.Popen([*command, str(self._path)], stdout=subprocess.DEVNULL, stderr=errors)

    def check(self) -> None:
        """Raise ContenderError if it has ended."""
        if self._process is not None and self._process.poll() is not None:
            lines = Path(self._folder.name, "errors").read_text(errors="replace").strip().splitlines()
            raise ContenderError(f"eosfw ended: {lines[-1] if lines else 'it said nothing'}")

    def stop(self) -> None:
        """End it in order."""
        assert self._process is not None, "it was started"
        self._process.send_signal(signal.SIGINT)
        self._process.wait(60)

    def close(self) -> None:
        """End it, and forget it."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        self._folder.cleanup()


def _section(name: str, entries: dict[str, str]) -> str:
    return f"[{name}]\n" + "".join(f"{json.dumps(key)} = {json.dumps(value)}\n" for key, value in entries.items())


@dataclass
class Figures:
    """The best that a contender has shown."""

    best: dict[str, float] = field(default_factory=dict)

    def higher(self, name: str, found: float) -> None:
        """Keep a rate."""
        self.best[name] = round(max(self.best.get(name, 0.0), found))

    def lower(self, name: str, found: float) -> None:
        """Keep a time, or an amount of memory."""
        self.best[name] = round(min(self.best.get(name, found), found), 1)


class Run:
    """One run of a contender, from a snapshot into an empty topic."""

    def __init__(self, given: argparse.Namespace, server: Postgres, servers: str, name: str) -> None:
        self._given, self._server, self._servers, self._name = given, server, servers, name
        self.topic = f"{name}.public.orders"
        self.rows = 0
        """So many records the topic has to have."""

    @property
    def properties(self) -> dict[str, str]:
        """What both contenders are given."""
        return {
            "database.hostname": "127.0.0.1",
            "database.port": str(self._server.port),
            "database.user": USER,
            "database.password": "none",
            "database.dbname": USER,
            "topic.prefix": self._name,
            "table.include.list": "public.orders",
            "slot.name": self._name,
            "publication.name": self._name,
            "publication.autocreate.mode": "filtered",
            "snapshot.mode": "initial",
            "transaction.boundary": "poll",
        }

    def prepare(self, rows: int) -> None:
        """Make the table with so many rows, and the topic."""
        create(self._servers, self.topic)
        with self._server.connect() as session:
            for statement in ("DROP TABLE IF EXISTS orders", CREATE, INSERT.format(1, rows)):
                session.execute(statement)
            session.execute("DROP SEQUENCE IF EXISTS ids")
            session.execute("CREATE SEQUENCE ids START 1000000000")
            session.execute("VACUUM ANALYZE orders")
            session.execute("CHECKPOINT")
        self.rows = rows

    def insert(self, count: int, per_transaction: int) -> None:
        """Insert rows behind those that there are."""
        first, last = self.rows + 1, self.rows + count
        with self._server.connect() as session:
            for start in range(first, last + 1, per_transaction):
                session.execute(INSERT.format(start, min(start + per_transaction - 1, last)))
        self.rows = last

    def started(self, contender: Contender, count: int) -> tuple[float, float]:
        """Start a contender; records per second, from the first of them, and from the start."""
        with closing(Ends(self._servers, self.topic)) as ends:
            at = ends.committed()
            asked = time.perf_counter()
            contender.start()
            began, ended = self.awaited(contender, ends, at, at + count)
        return count / (ended - began), count / (ended - asked)

    def awaited(self, contender: Contender, ends: Ends, at: int, goal: int) -> tuple[float, float]:
        """When the log had a record behind an offset, and when the last one was visible: the log grows no more."""
        began, checked, deadline = None, time.monotonic(), time.monotonic() + LATEST
        last = (time.perf_counter(), at)
        while True:
            asked = time.perf_counter()
            committed = ends.committed()
            if began is None and (committed > at or ends.appended() > at):
                began = asked
            if committed != last[1]:
                last = (time.perf_counter(), committed)
            if began is not None and committed >= goal and time.perf_counter() - last[0] > SETTLED:
                return began, last[0]
            if time.monotonic() - checked > CHECK_PERIOD:
                checked = time.monotonic()
                contender.check()
            if time.monotonic() > deadline:
                raise ContenderError(f"{self.topic}: only {committed} of {goal} offsets are visible")
            time.sleep(PERIOD)

    def single(self, count: int, pause: float) -> Sequence[float]:
        """Milliseconds of single inserts, in order."""
        found = []
        with self._reader() as reader, self._server.connect() as session:
            for at in range(count + 5):
                time.sleep(pause * (at % 5 + 1))
                session.execute(SINGLE)
                committed = time.perf_counter()
                while (record := reader.poll(LATEST)) is not None and record.error():
                    pass
                if record is None:
                    raise ContenderError(f"{self.topic}: an insert is not visible")
                found.append((time.perf_counter() - committed) * 1000)
        self.rows += count + 5
        return sorted(found[5:])

    def at_rate(self, rate: int, seconds: int) -> Sequence[float]:
        """Milliseconds of inserts of pgbench at a fixed rate, in order."""
        found = []
        with self._reader() as reader, tempfile.NamedTemporaryFile("w", suffix=".sql") as script:
            script.write(SINGLE)
            script.flush()
            where = ["-h", "127.0.0.1", "-p", str(self._server.port), "-U", USER, "-d", USER]
            command = [str(self._server.programs / "pgbench"), *where, "-n", "-c", "4", "-f", script.name]
            command += ["-R", str(rate), "-t", str(rate * seconds // 4)]
            with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL):
                for _ in range(rate * seconds // 4 * 4):
                    while (record := reader.poll(LATEST)) is not None and record.error():
                        pass
                    if record is None:
                        raise ContenderError(f"{self.topic}: an insert is not visible")
                    found.append((time.time(), record.value()))
        self.rows += len(found)
        settled = found[len(found) // 5 :]  # the first seconds are those in which pgbench connects
        return sorted(at * 1000 - json.loads(value)["source"]["ts_us"] / 1000 for at, value in settled)

    @contextmanager
    def _reader(self) -> Iterator[Consumer]:
        """A reader of what is committed from now on."""
        with closing(Ends(self._servers, self.topic)) as ends:
            at = ends.committed()
        settings = {"bootstrap.servers": self._servers, "group.id": "latency", "isolation.level": "read_committed"}
        reader = Consumer(settings)
        reader.assign([TopicPartition(self.topic, 0, at)])
        reader.poll(1.0)
        try:
            yield reader
        finally:
            reader.close()

    def verify(self) -> None:
        """Raise ContenderError unless each row has one record."""
        settings = {"bootstrap.servers": self._servers, "group.id": "count", "isolation.level": "read_committed"}
        reader = Consumer(settings | {"enable.partition.eof": True})
        reader.assign([TopicPartition(self.topic, 0, 0)])
        keys: list[bytes] = []
        while True:
            records = reader.consume(10_000, 1.0)
            keys += [one.key() for one in records if not one.error()]
            if any(one.error() for one in records):
                break
        reader.close()
        if len(keys) != self.rows or len(set(keys)) != self.rows:
            raise ContenderError(f"{self.topic} has {len(keys)} records of {len(set(keys))} rows, not {self.rows}")

    def clean(self) -> None:
        """Drop slot, publication and topic."""
        with self._server.connect() as session:
            drop = "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE NOT active"
            while session.execute("SELECT FROM pg_replication_slots").fetchone() is not None:
                session.execute(drop)
                time.sleep(0.1)
            session.execute(f"DROP PUBLICATION IF EXISTS {self._name}")
        admin = AdminClient({"bootstrap.servers": self._servers})
        admin.delete_topics([self.topic])[self.topic].result()


def memory(process: int) -> float:
    """MB of a process and its children."""
    whole = psutil.Process(process)
    return sum(one.memory_info().rss for one in (whole, *whole.children(recursive=True))) / 2**20


class Benchmark:
    """The contenders' best figures, over all runs."""

    def __init__(self, given: argparse.Namespace, server: Postgres, servers: str, peer: Connect | None) -> None:
        self._given, self._server, self._servers, self._peer = given, server, servers, peer
        self.figures = {who: Figures() for who in given.only.split(",")}

    def run(self, who: str) -> None:
        """One run of a contender."""
        given, run = self._given, self._new_run()
        found = Figures()
        run.prepare(given.rows)
        with self._contender(who, run) as contender:
            self._rate(found, "snapshot", run.started(contender, given.rows))
            if "backlog" in given.parts:
                contender.stop()
                run.insert(given.changes, given.per_transaction or given.changes)
                self._rate(found, "backlog", run.started(contender, given.changes))
            if "single" in given.parts:
                _times(found, "single", run.single(given.singles, 0))
            if "paused" in given.parts:
                _times(found, "paused", run.single(max(1, given.singles // 10), PAUSE))
            if "rate" in given.parts:
                _times(found, "rate", run.at_rate(given.rate, given.seconds))
            found.lower("memory", memory(contender.process))
            run.verify()
        run.clean()
        print(json.dumps({"who": who, **found.best}), file=sys.stderr)
        self._keep(who, found)

    def flat(self, count: int) -> dict[str, object]:
        """The memory of one eosfw beside so many inserts, and its rates."""
        run, found, rates = self._new_run(), [], []
        run.prepare(1)
        with self._contender("overlap", run) as contender, closing(Ends(self._servers, run.topic)) as ends:
            run.started(contender, 1)
            for done in range(0, count, STEP):
                step, at, began = min(STEP, count - done), ends.committed(), time.perf_counter()
                run.insert(step, 10_000)
                _, ended = run.awaited(contender, ends, at, at + step)
                rates.append(round(step / (ended - began)))
                found.append(round(memory(contender.process)))
                print(json.dumps({"changes": done + step, "memory": found[-1], "rate": rates[-1]}), file=sys.stderr)
        run.clean()
        return {"memory": found, "rates": rates}

    def ratios(self) -> dict[str, float]:
        """Of each figure eosfw's over Debezium's."""
        if "debezium" not in self.figures:
            return {}
        theirs = self.figures["debezium"].best
        return {
            f"{name} {who}/debezium": round(value / theirs[name], 2)
            for who, one in self.figures.items()
            for name, value in one.best.items()
            if who != "debezium" and theirs.get(name)
        }

    def _new_run(self) -> Run:
        return Run(self._given, self._server, self._servers, f"r{uuid.uuid4().hex[:8]}")

    @contextmanager
    def _contender(self, who: str, run: Run) -> Iterator[Contender]:
        made: Contender
        if who == "debezium":
            assert self._peer is not None, "started if it is asked for"
            made = Debezium(self._peer, run.topic, run.properties)
        else:
            overlap = {"transaction.commit.overlap": str(who == "overlap").lower()}
            made = Eosfw(self._servers, run.topic, run.properties | overlap)
        try:
            yield made
        finally:
            made.close()

    def _rate(self, found: Figures, name: str, rates: tuple[float, float]) -> None:
        found.higher(name, rates[0])
        found.higher(f"{name} whole", rates[1])

    def _keep(self, who: str, found: Figures) -> None:
        for name, value in found.best.items():
            keep = self.figures[who].higher if name.startswith(("snapshot", "backlog")) else self.figures[who].lower
            keep(name, value)


def _times(found: Figures, name: str, times: Sequence[float]) -> None:
    found.lower(f"{name} p50", times[len(times) // 2])
    found.lower(f"{name} p99", times[min(len(times) - 1, len(times) * 99 // 100)])


def main() -> None:
    """Measure every contender in turn."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bootstrap-servers", help="a running Kafka; without it one is started")
    parser.add_argument("--rows", type=int, default=scaled(500_000))
    parser.add_argument("--changes", type=int, default=scaled(200_000))
    parser.add_argument("--per-transaction", type=int, default=0, help="rows of a transaction of the backlog; 0: all")
    parser.add_argument("--singles", type=int, default=scaled(200, least=2))
    parser.add_argument("--rate", type=int, default=1000)
    parser.add_argument("--seconds", type=int, default=scaled(10))
    parser.add_argument("--rounds", type=int, default=scaled(2))
    parser.add_argument("--parts", default=",".join(PARTS), help="comma-separated; the snapshot is always there")
    contenders = "debezium,eosfw,overlap" if SCALE == 1 else "debezium,overlap"
    parser.add_argument("--only", default=contenders, help="contenders, comma-separated")
    parser.add_argument("--flat", type=int, help="insert so many rows beside one eosfw instead")
    asked = parser.parse_args()
    with ExitStack() as stack:
        servers = asked.bootstrap_servers or stack.enter_context(kafka())
        server = stack.enter_context(postgres(free_ports(1)[0]))
        compared = asked.flat is None and "debezium" in asked.only
        peer = stack.enter_context(connect(servers, PLUGIN)) if compared else None
        benchmark = Benchmark(asked, server, servers, peer)
        if asked.flat is not None:
            found: dict[str, Any] = benchmark.flat(asked.flat)
        else:
            for _ in range(asked.rounds):
                for who in benchmark.figures:
                    benchmark.run(who)
            found = {"best": {who: one.best for who, one in benchmark.figures.items()}, "ratios": benchmark.ratios()}
    show(found)


if __name__ == "__main__":
    run_main(main)
