"""Measure file lines as JSON with their schema, through three transformations, beside Kafka Connect's file source.

All write the same lines to the same real Kafka in turn, one task, `transaction.boundary=poll`, polls of 2,000 or 20,000
lines, through HoistField, InsertField and ReplaceField and a JsonConverter with schemas; the bytes of the first records
are compared. A rate is measured as in `connector_rate.py`. `rows` is a task that polls a SourceRecord for each line;
`columns` is eosfw's FileStreamSource, whose polls are a column of lines; with `-overlap` behind their names both poll
while the transaction before commits (`transaction.commit.overlap`); `bare` is a loop that has all bytes at hand
and only sends and commits them, with a record of offsets. `cpu` is the least processor time of a contender's process
for each line, in microseconds, without that of its start. Prints one JSON object with the best rates and their ratios;
what each run found goes to stderr.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from benchmark import SCALE, ContenderError, run_main, scaled, show
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient
from connect_peer import Connect, connect
from connector_rate import Check, Source, create, kafka, seconds, write_lines
from contenders import started

FIRST = 3
POLL = 2000
"""Lines of the file by which the cost of a start is found."""
WAIT = 20.0
TRANSFORMATIONS = {
    "transforms": "hoist,insert,replace",
    "transforms.hoist.type": "org.apache.kafka.connect.transforms.HoistField$Value",
    "transforms.hoist.field": "line",
    "transforms.insert.type": "org.apache.kafka.connect.transforms.InsertField$Value",
    "transforms.insert.static.field": "source",
    "transforms.insert.static.value": "shop",
    "transforms.replace.type": "org.apache.kafka.connect.transforms.ReplaceField$Value",
    "transforms.replace.renames": "line:text",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "true",
    "transaction.boundary": "poll",
}
ROWS = '''
from eosfw import hookimpl
from eosfw.data import STRING
from eosfw.records import SourceRecord
from eosfw_file import FileSourceTask, FileStreamSourceConnector


class LineRecordsTask(FileSourceTask):
    def _source_batch(self, reader, taken):
        batch = super()._source_batch(reader, taken)
        partition, offsets = batch.source_partition, reader.file.offsets(taken.ends)
        return [
            SourceRecord(batch.topic, line.decode(), None, partition, offset, value_schema=STRING)
            for line, offset in zip(batch.values, offsets)
        ]


class LineRecordsConnector(FileStreamSourceConnector):
    """Polls a SourceRecord for each line."""

    name, aliases, task = "line-records", (), LineRecordsTask


@hookimpl
def eosfw_connectors():
    return [LineRecordsConnector]
'''


BARE = """
import sys
from confluent_kafka import Producer
servers, topic, file, first, batch = sys.argv[1:]
lines, first, batch = open(file, "rb").read().split(b"\\n")[:-1], first.encode(), int(batch)
before, _, behind = first.partition(lines[0])
values = [before + line + behind for line in lines]
producer = Producer({
    "bootstrap.servers": servers, "transactional.id": "bare-" + topic, "queue.buffering.max.messages": 10_000_000,
})
producer.init_transactions()
for start in range(0, len(values), batch):
    producer.begin_transaction()
    producer.produce_batch(topic, [{"value": value} for value in values[start : start + batch]])
    producer.produce(topic + "-offsets", key=b"file", value=b"%d" % start)
    producer.commit_transaction()
"""
CONNECTORS = {"rows": "line-records", "columns": "FileStreamSource"}


OVERLAP = "-overlap"


def pipeline(source: Source, topic: str, who: str, batch: int) -> str:
    """A pipeline of one connector."""
    connector = CONNECTORS[who.removesuffix(OVERLAP)]
    properties = {"connector.class": connector, "file": str(source.file), "topic": topic, "batch.size": str(batch)}
    properties["transaction.commit.overlap"] = str(who.endswith(OVERLAP)).lower()
    given = {"backend": "confluent", "bootstrap.servers": source.servers}
    sections = {"cluster": given, "worker": {"group.id": topic}, "connectors.lines": properties | TRANSFORMATIONS}
    return "".join(
        f"[{section}]\n" + "".join(f"{json.dumps(name)} = {json.dumps(value)}\n" for name, value in entries.items())
        for section, entries in sections.items()
    )


def install_rows(folder: Path) -> None:
    """Write the plugin of `rows` into a folder, which must be in PYTHONPATH."""
    (folder / "line_records.py").write_text(ROWS)
    info = folder / "line_records-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: line-records\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[eosfw]\nline-records = line_records\n")


@contextmanager
def with_eosfw(source: Source, topic: str, who: str, batch: int) -> Iterator[Check]:
    """Run a pipeline of one connector to the end of the file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "pipeline.toml")
        path.write_text(pipeline(source, topic, who, batch))
        command = [str(Path(sys.executable).with_name("eosfw")), "run", "--no-verify", "--quiet", "--json", str(path)]
        with started("eosfw", *command) as contender:
            yield contender.check
            contender.finish(60.0)


@contextmanager
def with_bare_loop(source: Source, topic: str, first: bytes, batch: int) -> Iterator[Check]:
    """Run the bare loop with the bytes that the contenders before it made; `first` is the first record."""
    create(source.servers, f"{topic}-offsets")
    given = source.servers, topic, str(source.file), first.decode(), str(batch)
    with started("the bare loop", sys.executable, "-c", BARE, *given) as contender:
        yield contender.check
        contender.finish(60.0)


@contextmanager
def with_connect(peer: Connect, source: Source, topic: str, batch: int) -> Iterator[Check]:
    """Run Kafka Connect's own file source."""
    peer.put_file_source(topic, str(source.file), topic, TRANSFORMATIONS | {"batch.size": str(batch)})
    try:
        yield lambda: peer.check(topic)
    finally:
        peer.delete(topic)


def first_records(servers: str, topic: str) -> list[bytes]:
    """The first records of a topic."""
    reader = Consumer({"bootstrap.servers": servers, "group.id": "first", "isolation.level": "read_committed"})
    reader.assign([TopicPartition(topic, 0, 0)])
    values = [one.value() for one in reader.consume(FIRST, WAIT)]
    reader.close()
    return values


class Measurement:
    """The contenders' best figures so far, with polls of one size."""

    def __init__(self, source: Source, peer: Connect | None, batch: int) -> None:
        self._source, self._peer, self._batch = source, peer, batch
        self.rates: dict[str, float] = {}
        self.cpu: dict[str, float] = {}
        self._starts: dict[str, float] = {"connect": 0.0}
        self._records: list[bytes] | None = None

    def measure_start(self, who: str, short: Source) -> None:
        """Find out what the start of a contender costs, by a file of one poll; Kafka Connect has been started."""
        self._starts[who] = min(self._run(who, short)[1] for _ in range(2))

    def run(self, who: str) -> None:
        """One run into a topic of its own."""
        source = self._source
        took, spent = self._run(who, source)
        rate, cpu = source.lines / took, (spent - self._starts.get(who, 0.0)) * 1e6 / source.lines
        self.rates[who] = max(self.rates.get(who, 0.0), rate)
        self.cpu[who] = min(self.cpu.get(who, cpu), cpu)
        print(
            json.dumps({"who": who, "batch": self._batch, "rate": round(rate), "cpu": round(cpu, 2)}), file=sys.stderr
        )

    def _run(self, who: str, source: Source) -> tuple[float, float]:
        """The seconds from the first record to the last one, and those of the processor."""
        topic = f"schemas-{who}-{uuid.uuid4().hex[:8]}"
        create(source.servers, topic)
        began = self._spent(who)
        with self._started(who, source, topic) as check:
            took = seconds(source, topic, check)
        spent = self._spent(who) - began
        self._compare(who, topic)
        admin = AdminClient({"bootstrap.servers": source.servers})
        admin.delete_topics([topic])[topic].result()
        return took, spent

    def _spent(self, who: str) -> float:
        """The processor time so far of Kafka Connect, or of all processes that have ended."""
        if who == "connect":
            assert self._peer is not None
            return self._peer.processor_time()
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    def _started(self, who: str, source: Source, topic: str) -> Any:
        if who == "connect":
            assert self._peer is not None, "started if it is asked for"
            return with_connect(self._peer, source, topic, self._batch)
        if who == "bare":
            if self._records is None:
                raise ContenderError("the bare loop sends what another contender made: name one before it in --only")
            return with_bare_loop(source, topic, self._records[0], self._batch)
        return with_eosfw(source, topic, who, self._batch)

    def found(self) -> dict[str, object]:
        """The best rates, the least processor time, and the rates over Kafka Connect's."""
        rates = self.rates
        ratios = {f"{who}/connect": rate / rates["connect"] for who, rate in rates.items() if "connect" in rates}
        return {"rates": _rounded(rates, 0), "cpu": _rounded(self.cpu, 2), "ratios": _rounded(ratios, 2)}

    def _compare(self, who: str, topic: str) -> None:
        records = first_records(self._source.servers, topic)
        if self._records not in (None, records):
            raise ContenderError(f"{who} wrote other bytes than the contenders before it")
        self._records = records


def main() -> None:
    """Measure every contender in turn."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bootstrap-servers", help="a running Kafka; without it one is started")
    parser.add_argument("--lines", type=int, default=scaled(1_000_000))
    parser.add_argument("--rounds", type=int, default=scaled(4))
    parser.add_argument(
        "--batches", default="2000,20000" if SCALE == 1 else "2000", help="lines of a poll, comma-separated"
    )
    parser.add_argument(
        "--only", default="connect,rows,rows-overlap,columns,columns-overlap,bare", help="contenders, comma-separated"
    )
    asked = parser.parse_args()
    contenders = asked.only.split(",")
    with ExitStack() as stack:
        servers = asked.bootstrap_servers or stack.enter_context(kafka())
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        install_rows(folder)
        (folder / "short").mkdir()
        os.environ["PYTHONPATH"] = str(folder)
        source = Source(servers, write_lines(folder, asked.lines), asked.lines)
        peer = stack.enter_context(connect(servers)) if "connect" in contenders else None
        measured = {batch: Measurement(source, peer, int(batch)) for batch in asked.batches.split(",")}
        for one in measured.values() if SCALE == 1 else ():
            for who in contenders:
                if who != "connect":
                    one.measure_start(who, Source(servers, write_lines(folder / "short", POLL), POLL))
        for _ in range(asked.rounds):
            for one in measured.values():
                for who in contenders:
                    one.run(who)
    show({f"polls of {batch}": one.found() for batch, one in measured.items()})


def _rounded(figures: dict[str, float], digits: int) -> dict[str, float]:
    return {who: round(one, digits) for who, one in figures.items()}


if __name__ == "__main__":
    run_main(main)
