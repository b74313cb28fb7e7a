"""A Kafka Connect worker with exactly-once source support has the embedded broker as its only cluster (KIP-618)."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator

import pytest

from .connect import Worker
from .reading import WAIT, LiveReader, read_all

LINES = 20_000
BATCH = 50
"""A line belongs to a transaction of so many: hundreds of them, so that one is open wherever a worker ends."""
FENCED = re.compile(r"(ProducerFenced|InvalidProducerEpoch)Exception")
"""What the Java producer raises when a newer one has its transactional id."""


@pytest.fixture
def group(fresh) -> str:
    return fresh("connect")


@pytest.fixture
def start(java, embedded, group, tmp_path) -> Iterator[Callable[[], Worker]]:
    """Starts workers of one group."""
    workers = []

    def worker() -> Worker:
        workers.append(Worker(java, tmp_path, group, embedded))
        return workers[-1]

    yield worker
    for one in workers:
        one.program.kill()


@pytest.fixture
def source(topic, tmp_path):
    """A file that grows, and the connector that reads it."""
    return Source(tmp_path / "lines.txt", topic())


class Source:
    def __init__(self, file, topic) -> None:
        self.file, self.topic, self.lines = file, topic, []
        self.file.touch()
        self.config = {
            "connector.class": "FileStreamSource",
            "tasks.max": 1,
            "file": file,
            "topic": topic,
            "batch.size": BATCH,
            "exactly.once.support": "required",
        }

    def grow(self, lines: int) -> None:
        more = [b"line %d" % number for number in range(len(self.lines), len(self.lines) + lines)]
        self.lines += more
        with self.file.open("ab") as file:
            file.write(b"".join(line + b"\n" for line in more))


EMPTY_END = "InvalidTxnStateException"
"""On a busy machine Java's producer (4.1, transaction.version 2) may ask for the end of a transaction before it sends
its first record: the sender looks whether records wait, stands still, then finds that the end was asked for. Kafka
refuses that, too; whoever runs the worker restarts the task."""


def at_work(start: Callable[[], Worker], source: Source) -> tuple[Worker, Worker]:
    """Two workers of a group with much to do: the one that runs the only task, then the other."""
    one, other = start(), start()
    one.ready()
    other.ready()
    source.grow(LINES)
    one.configure("lines", source.config)
    owner = one.eventually(lambda: one.running_on("lines"))
    return (one, other) if owner == one.address else (other, one)


def until(reader: LiveReader, count: int, worker: Worker) -> None:
    """Wait for records; on a timeout report the cause: the reader, a failed task, or unknown."""
    deadline = time.monotonic() + WAIT
    while not reader.wait_for(count, 1.0):
        for failed in worker.failures("lines"):
            assert EMPTY_END in failed, failed
            worker.restart_task("lines")
        assert time.monotonic() < deadline, (
            f"the reader saw {reader.count} of {count} records, in the log are "
            f"{len(read_all(reader.servers, reader.topic)[0])}; the worker said:\n{worker.program.output()[-5000:]}"
        )


def test_each_line_is_committed_once_across_task_restarts(start, source, embedded, group):
    """Java's worker against this broker: records and offsets in one transaction; a task restarted by REST goes on."""
    worker = start()
    worker.ready()
    source.grow(LINES)
    worker.configure("lines", source.config)

    with LiveReader(embedded, source.topic) as reader:
        for part in (1, 2, 3):
            until(reader, part * LINES // 4, worker)
            worker.restart_task("lines")
            worker.eventually(lambda: worker.running_on("lines"))
        source.grow(100)
        until(reader, len(source.lines), worker)
        seen = reader.values

    offsets = worker.ask("GET", "/connectors/lines/offsets")["offsets"]
    assert seen == read_all(embedded, source.topic) == [source.lines]
    assert [one["offset"] for one in offsets] == [{"position": source.file.stat().st_size}]
    assert worker.program.end() in (0, 143)
    stored = [json.loads(value) for part in read_all(embedded, f"{group}-offset", 5) for value in part]
    assert stored[-1] == {"position": source.file.stat().st_size}


def test_a_worker_that_wakes_from_a_pause_is_fenced(start, source, embedded):
    """Java's: a zombie in the middle of its transactions, its successor running; it cannot commit any more."""
    first, second = at_work(start, source)

    with LiveReader(embedded, source.topic) as reader:
        until(reader, LINES // 4, first)
        first.program.freeze()
        asleep_at = reader.count
        second.eventually(lambda: second.running_on("lines") == second.address)
        until(reader, LINES, second)
        first.program.wake()
        first.eventually(lambda: FENCED.search(first.program.output()))
        source.grow(100)
        until(reader, len(source.lines), second)
        seen = reader.values

    assert asleep_at < LINES, "it was done before it slept"
    assert seen == read_all(embedded, source.topic) == [source.lines]
