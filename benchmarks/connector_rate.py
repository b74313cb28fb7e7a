"""Measure one exactly-once file source task beside Kafka Connect's, and beside a bare loop of the same client.

All write the same lines to the same real Kafka in turn. A rate is the number of lines over the time from the first
record in the log to the last one visible at read_committed, seen from outside by asking for both ends of the log; so
neither start-up nor a reader's own cost counts. Prints one JSON object with the best rates and their ratios (the JVM
warms up over its runs, so the best of several is compared); what each run found goes to stderr.

    python benchmarks/connector_rate.py                        starts a real Kafka and Kafka Connect for the purpose
    python benchmarks/connector_rate.py --bootstrap-servers HOST:PORT --only eosfw --modes poll
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmark import ContenderError, run_main, scaled, show
from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from connect_peer import Connect, connect
from contenders import started

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

INTERVALS = {"poll": None, "interval-1000": 1000, "interval-100": 100}
BATCH = 2000
QUERY = 5.0
PERIOD, CHECK_PERIOD = 0.01, 1.0
LATEST = 120.0

RAW = """
import sys, time
from confluent_kafka import Producer
servers, topic, file, interval, offsets = sys.argv[1:]
lines = open(file, "rb").read().split(b"\\n")[:-1]
settings = {"bootstrap.servers": servers, "transactional.id": "raw-" + topic}
producer = Producer(settings | {"queue.buffering.max.messages": 10_000_000})
producer.init_transactions()
producer.begin_transaction()
due = time.monotonic() + (float(interval) / 1000 if interval else 0)
for start in range(0, len(lines), 2000):
    producer.produce_batch(topic, [{"value": line} for line in lines[start : start + 2000]])
    if time.monotonic() >= due:
        if offsets:
            producer.produce(offsets, key=b"file", value=b"%d" % start)
        producer.commit_transaction()
        producer.begin_transaction()
        due = time.monotonic() + (float(interval) / 1000 if interval else 0)
producer.commit_transaction()
"""

PIPELINE = """
[cluster]
backend = "confluent"
"bootstrap.servers" = "{servers}"

[worker]
"group.id" = "{topic}"

[connectors.lines]
"connector.class" = "file"
file = "{file}"
topic = "{topic}"
"batch.size" = {batch}
"transaction.boundary" = "{boundary}"
"""


Check = Callable[[], None]
"""Raises ContenderError if the contender has failed meanwhile."""
Runner = Callable[["Source", str, int | None], AbstractContextManager[Check]]


@dataclass(frozen=True, slots=True)
class Source:
    """What is written, and where to."""

    servers: str
    file: Path
    lines: int


class Ends:
    """Both ends of a log, asked from outside: what was appended, what is visible at read_committed."""

    def __init__(self, servers: str, topic: str) -> None:
        self._partition = TopicPartition(topic, 0)
        settings = {"bootstrap.servers": servers, "group.id": "rate"}
        self._committed = Consumer(settings | {"isolation.level": "read_committed"})
        self._appended = Consumer(settings | {"isolation.level": "read_uncommitted"})

    def committed(self) -> int:
        return self._end(self._committed)

    def appended(self) -> int:
        return self._end(self._appended)

    def _end(self, consumer: Consumer) -> int:
        try:
            return consumer.get_watermark_offsets(self._partition, timeout=QUERY)[1]
        except KafkaException as why:
            if why.args[0].code() != KafkaError._UNKNOWN_PARTITION:  # noqa: SLF001 its public name
                raise
            return 0  # the broker that was asked has not heard of the new topic

    def close(self) -> None:
        self._committed.close()
        self._appended.close()


def seconds(source: Source, topic: str, check: Check) -> float:
    """Time from the first record in the log to the last one visible."""
    ends, deadline = Ends(source.servers, topic), time.monotonic() + LATEST
    began, checked = None, time.monotonic()
    seen: list[tuple[float, int]] = []
    while True:
        asked = time.monotonic()
        committed = ends.committed()
        if began is None and (committed or ends.appended()):
            began = asked
        if not seen or committed != seen[-1][1]:
            seen.append((time.monotonic(), committed))
        settled = committed >= source.lines and time.monotonic() - seen[-1][0] > 1.5
        if began is not None and settled:
            ends.close()
            return seen[-1][0] - began
        if time.monotonic() - checked > CHECK_PERIOD:
            checked = time.monotonic()
            check()
        if time.monotonic() > deadline:
            raise ContenderError(f"{topic}: only {committed} of {source.lines} offsets are visible after {LATEST:g} s")
        time.sleep(PERIOD)


def with_eosfw(*, overlap: bool) -> Runner:
    """Run a pipeline of one file connector; with `overlap` it polls while the transaction before commits."""

    @contextmanager
    def running(source: Source, topic: str, interval: int | None) -> Iterator[Check]:
        boundary = "interval" if interval else "poll"
        text = PIPELINE.format(servers=source.servers, topic=topic, file=source.file, batch=BATCH, boundary=boundary)
        text += f'"transaction.boundary.interval.ms" = {interval}\n' if interval else ""
        text += '"transaction.commit.overlap" = true\n' if overlap else ""
        with tempfile.TemporaryDirectory() as folder:
            pipeline = Path(folder, "pipeline.toml")
            pipeline.write_text(text)
            command = [str(Path(sys.executable).with_name("eosfw")), "run", "--no-verify", "--quiet", "--json"]
            with _process("eosfw", *command, str(pipeline)) as check:
                yield check

    return running


def with_raw(*, offsets: bool) -> Runner:
    """Run a bare loop of begin, produce_batch, commit over lines in memory; with `offsets`, one of those too."""

    @contextmanager
    def running(source: Source, topic: str, interval: int | None) -> Iterator[Check]:
        second = f"{topic}-offsets" if offsets else ""
        if second:
            create(source.servers, second)
        given = source.servers, topic, str(source.file), str(interval or ""), second
        with _process("the bare loop", sys.executable, "-c", RAW, *given) as check:
            yield check

    return running


@contextmanager
def _process(name: str, *command: str) -> Iterator[Check]:
    with started(name, *command) as contender:
        yield contender.check
        contender.finish(60.0)


def with_connect(peer: Connect) -> Runner:
    """Run Kafka Connect's own file source."""

    @contextmanager
    def running(source: Source, topic: str, interval: int | None) -> Iterator[Check]:
        properties = {"transaction.boundary": "poll"}
        if interval:
            properties = {"transaction.boundary": "interval", "transaction.boundary.interval.ms": str(interval)}
        peer.put_file_source(topic, str(source.file), topic, properties)
        try:
            yield lambda: peer.check(topic)
        finally:
            peer.delete(topic)

    return running


def create(servers: str, topic: str) -> None:
    admin = AdminClient({"bootstrap.servers": servers})
    admin.create_topics([NewTopic(topic, 1, 1)])[topic].result()


def measure(source: Source, who: str, mode: str, runner: Runner) -> float:
    """One run into a topic of its own; lines per second."""
    topic = f"rate-{who}-{mode}-{uuid.uuid4().hex[:8]}"
    create(source.servers, topic)
    with runner(source, topic, INTERVALS[mode]) as check:
        took = seconds(source, topic, check)
    admin = AdminClient({"bootstrap.servers": source.servers})
    admin.delete_topics([topic])[topic].result()
    rate = source.lines / took
    print(json.dumps({"who": who, "mode": mode, "seconds": round(took, 3), "rate": round(rate)}), file=sys.stderr)
    return rate


def write_lines(folder: Path, lines: int) -> Path:
    """Lines of 100 bytes, newline included, all different."""
    file = folder / "lines.txt"
    with file.open("wb") as out:
        for start in range(0, lines, 10_000):
            out.write(b"".join(b"%099d\n" % number for number in range(start, min(lines, start + 10_000))))
    return file


def main() -> None:
    """Measure every contender in every mode, in turn."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bootstrap-servers", help="a running Kafka; without it one is started")
    parser.add_argument("--lines", type=int, default=scaled(1_000_000))
    parser.add_argument("--rounds", type=int, default=scaled(4))
    parser.add_argument("--modes", default=",".join(INTERVALS))
    parser.add_argument(
        "--only", default="connect,eosfw,raw,raw-offsets", help="contenders, comma-separated; also eosfw-overlap"
    )
    asked = parser.parse_args()
    best: dict[str, dict[str, float]] = {mode: {} for mode in asked.modes.split(",")}
    with ExitStack() as stack:
        servers = asked.bootstrap_servers or stack.enter_context(kafka())
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        source = Source(servers, write_lines(folder, asked.lines), asked.lines)
        runners: dict[str, Runner] = {
            "eosfw": with_eosfw(overlap=False),
            "eosfw-overlap": with_eosfw(overlap=True),
            "raw": with_raw(offsets=False),
            "raw-offsets": with_raw(offsets=True),
        }
        if "connect" in asked.only:
            runners["connect"] = with_connect(stack.enter_context(connect(servers)))
        for _ in range(asked.rounds):
            for mode, rates in best.items():
                for who in asked.only.split(","):
                    rates[who] = max(rates.get(who, 0.0), measure(source, who, mode, runners[who]))
    show({"best": best, "ratios": {mode: ratios(rates) for mode, rates in best.items()}})


def ratios(rates: dict[str, float]) -> dict[str, float]:
    """How eosfw compares with each other contender, and how it does with overlap."""
    return {
        f"{ours}/{who}": round(rates[ours] / rate, 2)
        for ours in ("eosfw", "eosfw-overlap")
        for who, rate in rates.items()
        if ours in rates and who not in (ours, "eosfw-overlap")
    }


@contextmanager
def kafka() -> Iterator[str]:
    """A real Kafka, started for the purpose."""
    from real_kafka import RealKafka

    node = RealKafka.start(java_options=())
    try:
        yield node.bootstrap_servers
    finally:
        node.stop()


if __name__ == "__main__":
    run_main(main)
