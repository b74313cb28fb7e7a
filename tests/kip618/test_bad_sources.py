"""A misbehaving connector fails only its own task."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any, ClassVar

import pytest
from tests.runtime.counting import CountingConnector

from eosfw.connectors import SourceTask
from eosfw.errors import ProducerFencedError
from eosfw.records import SourceBatch, SourceRecord
from eosfw.runtime.status import TaskState
from eosfw.state.steps import TaskStep

from .group import Group, Served

PARTITION = {"p": "a"}
GOOD = SourceRecord("t", b"v", None, PARTITION, {"next": 1})
CYCLE: dict[str, Any] = {}
CYCLE["again"] = CYCLE
HOSTILE: dict[str, tuple[SourceRecord, str]] = {
    "topic None": (replace(GOOD, topic=None), "names no topic (None)"),
    "empty topic": (replace(GOOD, topic=""), "names no topic ('')"),
    "value that is no bytes": (replace(GOOD, value="text"), "holds a str as key or value"),
    "key that is no bytes": (replace(GOOD, key=7), "holds a int as key or value"),
    "offset that is an object": (
        replace(GOOD, source_offset={"next": object()}),
        "source offset that cannot be stored: 'next' is a object",
    ),
    "offset that is no mapping": (replace(GOOD, source_offset=[1]), "[1] is no mapping"),
    "offset within itself": (replace(GOOD, source_offset=CYCLE), "'again' is a dict"),
    "offset that is NaN": (replace(GOOD, source_offset={"next": float("nan")}), "is nan, which JSON cannot hold"),
    "offset with a key of bytes": (replace(GOOD, source_offset={b"next": 1}), "the key b'next' is no text"),
    "partition within itself": (
        replace(GOOD, source_partition=CYCLE),
        "a source partition that cannot be stored: 'again' is a dict",
    ),
    "partition below 0": (replace(GOOD, partition=-1), "names partition -1"),
    "partition beyond any": (replace(GOOD, partition=2**32), "names partition 4294967296"),
    "partition that is a truth": (replace(GOOD, partition=True), "names partition True"),
    "timestamp below 0": (replace(GOOD, timestamp=-1), "has the timestamp -1"),
    "header that is none": (replace(GOOD, headers=(("h", "text"),)), "has the header ('h', 'text')"),
}


class Spoiling(SourceTask):
    """Sends three valid records, then an invalid one, in one transaction if the boundary allows."""

    bad: ClassVar[Any] = None

    def start(self, config: Any, context: Any) -> None:
        self.topic = config["topic"]
        self.polls = 0

    def poll(self) -> Any:
        self.polls += 1
        if self.polls == 1:
            return [SourceRecord(self.topic, b"%d" % n, None, PARTITION, {"next": n + 1}) for n in range(3)]
        if isinstance(self.bad, BaseException):
            raise self.bad
        return self.bad


class SpoilingConnector(CountingConnector):
    def __init__(self, bad: Any, task: type[SourceTask] = Spoiling) -> None:
        self.task = type("Spoiling", (task,), {"bad": bad})

    def task_configs(self, config: Any, max_tasks: int) -> Any:
        return [{"topic": config["topic"]}]


def failure_of(cluster: Served, bad: Any) -> str:
    """How a task fails; nothing of its open transaction becomes visible."""
    with Group(cluster, connector=SpoilingConnector(bad)) as group:
        group.put(transaction_boundary="interval", transaction_boundary_interval_ms="60000")
        group.until(lambda: bool(group.worker.status().failures), "the failure")

        (task,) = group.worker.status().tasks
        assert (task.state, task.records) == (TaskState.FAILED, 0)
        assert group.committed() == []
        return str(task.error)


@pytest.mark.parametrize(
    ("bad", "message"),
    [(ValueError("the source broke"), "the source broke"), (SystemExit(3), "3"), (KeyboardInterrupt(), "")],
    ids=["raises", "exits", "interrupts"],
)
def test_nothing_of_an_open_transaction_becomes_visible(cluster, bad, message):
    """TXN-05, TXN-11: the worker survives every exception of poll."""
    assert message in failure_of(cluster, bad)


@pytest.mark.parametrize("name", HOSTILE)
def test_an_invalid_record_is_named_by_its_index(embedded, name):
    """The good records before it, in the same poll and in earlier ones, are aborted with it."""
    bad, message = HOSTILE[name]

    error = failure_of(Served(embedded, "memory"), [GOOD, GOOD, bad, GOOD])

    assert "the SourceRecord at index 2 " in error
    assert message in error


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"a": 1}, "returned a dict; it must return a list of SourceRecord"),
        ((GOOD for _ in range(2)), "returned a generator; it must"),
        (42, "returned a int; it must"),
        ([GOOD, "no record"], "a str at index 1"),
        ([GOOD, SourceBatch("t", [b"v"], PARTITION, {"next": 1})], "records beside batches (index 1)"),
        ([GOOD] * 10**7, "returned 10000000 records at once; return at most 1000000"),
        (SourceBatch("t", [b"v"] * 10**7, PARTITION, {"next": 1}), "returned 10000000 records at once"),
        (SourceBatch("t", [b"v"] * 2, PARTITION, {"next": 1}, keys=[None]), "has 2 values, yet 1 keys"),
        (
            SourceBatch("t", [b"v"], PARTITION, {"next": 1}, source_offsets=[{b"n": 1}]),
            "b'n' is no text (record 0",
        ),
        (SourceBatch("t", [b"v"], PARTITION, {"next": 1}, timestamps=[-5]), "has the timestamp -5"),
    ],
    ids=[
        "dict",
        "generator",
        "number",
        "no record",
        "both",
        "many",
        "a huge batch",
        "short column",
        "offsets",
        "stamps",
    ],
)
def test_a_poll_result_of_wrong_type_fails_the_task(embedded, bad, message):
    """A mistake of the connector fails its own task with a sentence, never the worker."""
    assert message in failure_of(Served(embedded, "memory"), bad)


class Sleeping(Spoiling):
    """Polls once; the second poll blocks until the test ends it."""

    def poll(self) -> Any:
        if self.polls:
            self.polls += 1
            self.bad.wait(60)
            return []
        return super().poll()


def test_a_poll_that_never_returns_is_reported_as_zombie_and_fenced(cluster):
    """The status says where it hangs; its successor does not wait for it; nothing of it is seen."""
    woken = threading.Event()
    with Group(cluster, connector=SpoilingConnector(woken, Sleeping)) as group:
        group.put(transaction_boundary="interval", transaction_boundary_interval_ms="60000")
        group.until(lambda: stuck_in_poll(group), "the poll that hangs")

        group.put(transaction_boundary="poll")
        group.until(lambda: len(group.committed()) == 3, "the successor's records")

        (zombie,) = group.worker.status().zombies
        assert (zombie.generation, zombie.step) == (0, TaskStep.POLL)
        woken.set()
        group.until(lambda: not group.worker.status().zombies, "the end of the zombie")
        (ended,) = group.worker.status().retired
        assert ended.records == 0
        assert ended.state is TaskState.UNASSIGNED or isinstance(ended.error, ProducerFencedError)
        assert len(group.committed()) == 3


def stuck_in_poll(group: Group) -> bool:
    (task,) = group.worker.status().tasks
    return task.step is TaskStep.POLL and task.open_records == 3


class Repeating(Spoiling):
    """Returns the same record again and again."""

    def poll(self) -> Any:
        return [SourceRecord(self.topic, b"again", None, PARTITION, {"next": 1})]


def test_offsets_that_never_move_are_reported(cluster):
    """A restart would read all records again, so the stall is reported while the task runs."""
    with Group(cluster, connector=SpoilingConnector(None, Repeating)) as group:
        group.put(transaction_boundary="interval", transaction_boundary_interval_ms="60000")
        group.until(lambda: bool(group.worker.status().notices), "the notice")

        (notice,) = group.worker.status().notices
        assert notice.kind == "source offsets stand still"
        assert "{'next': 1}" in notice.text
        assert "{'p': 'a'}" in notice.text
        assert notice.count == 1
