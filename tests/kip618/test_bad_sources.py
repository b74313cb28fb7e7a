"""A misbehaving connector fails only its own task."""

from __future__ import annotations

import threading
from typing import Any, ClassVar

import pytest
from tests.runtime.counting import CountingConnector

from eosfw.connectors import SourceTask
from eosfw.errors import ProducerFencedError
from eosfw.records import SourceRecord
from eosfw.runtime.status import TaskState
from eosfw.state.steps import TaskStep

from .group import Group

PARTITION = {"p": "a"}


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


@pytest.mark.parametrize(
    ("bad", "message"),
    [(ValueError("the source broke"), "the source broke"), (SystemExit(3), "3"), ([42], "returned a int at index 0")],
    ids=["raises", "exits", "no record"],
)
def test_nothing_of_an_open_transaction_becomes_visible(cluster, bad, message):
    """TXN-05, TXN-11: the worker survives every exception of poll."""
    with Group(cluster, connector=SpoilingConnector(bad)) as group:
        group.put(transaction_boundary="interval", transaction_boundary_interval_ms="60000")
        group.until(lambda: bool(group.worker.status().failures), "the failure")

        (task,) = group.worker.status().tasks
        assert (task.state, task.records) == (TaskState.FAILED, 0)
        assert group.committed() == []
        assert message in str(task.error)


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
