"""A source is read without a cluster, as a run would read it from its beginning."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any

import pytest

from eosfw import (
    ConfigDef,
    ConnectorTransactionBoundaries,
    SourceConnector,
    SourceRecord,
    SourceTask,
    String,
)
from eosfw.concurrency import ThreadRuntime
from eosfw.errors import ConfigError, DamagedDataError, RetriableError, TaskFailedError
from eosfw.pipeline.verdicts.source_reader import source_records
from eosfw.registry import Plugins
from eosfw.registry.lookup import PluginSource, RegisteredPlugin

Read = Callable[..., list[SourceRecord]]


class ScriptedTask(SourceTask):
    """Does what its property says; two tasks take turns."""

    stopped: list[int] = []  # noqa: RUF012 (for the test to read)
    polled = 0

    def start(self, config: Any, context: Any) -> None:
        self.does, self.context, self.polls = config["does"], context, 0
        if self.does == "start":
            raise OSError("no such table")

    def poll(self) -> Any:
        self.polls += 1
        ScriptedTask.polled = self.polls
        if self.does == "raise":
            raise ZeroDivisionError("per cent of nothing")
        if self.does == "exit":
            raise SystemExit(0)
        if self.does == "damaged":
            raise DamagedDataError("row 7 is damaged")
        if self.does == "busy":
            raise RetriableError("the server said 429", retry_after=0 if self.polls < 3 else 600)
        if self.does == "down" or (self.does == "stumble" and self.polls < 3):
            raise RetriableError("the server said 503")
        if self.does == "silent":
            return None
        if self.does == "boundaries":
            record = self.record()
            if self.polls in (2, 3):  # the first two are committed, the third is discarded, the rest has no end
                (self.context.transaction.commit_record, self.context.transaction.abort_record)[self.polls - 2](record)
            return [record] if self.polls < 6 else None
        self.context.notice("odd row", "row 3 was skipped")
        return [self.record()]

    def record(self) -> SourceRecord:
        partition, offset = {"task": self.context.task_id.task}, {"row": self.polls}
        return SourceRecord("t", b"row %d" % self.polls, source_partition=partition, source_offset=offset)

    def at_end(self) -> bool | None:
        return None if self.does == "silent" else self.does == "boundaries" and self.polls >= 6

    def stop(self) -> None:
        self.stopped.append(self.context.task_id.task)


class Scripted(SourceConnector):
    name, task = "scripted", ScriptedTask
    config = ConfigDef(String("does", default="count"))

    def task_configs(self, config: Any, max_tasks: int) -> Any:
        return [{"does": config["does"]}] * max_tasks

    def transaction_boundaries(self, config: Any) -> Any:
        return ConnectorTransactionBoundaries.SUPPORTED


@pytest.fixture
def notices() -> list[str]:
    return []


@pytest.fixture
def read(plugins: Plugins, notices: list[str]) -> Read:
    ScriptedTask.stopped.clear()
    known = Plugins((*plugins._found, RegisteredPlugin("connector", Scripted, PluginSource("test", "1", "test"))), ())

    def ask(kind: str, limit: int | None = None, *, idle: float = 0.2, **properties: str) -> list[SourceRecord]:
        given = {"connector.class": kind, "tasks.max": "1"} | {
            name.replace("_", "."): text for name, text in properties.items()
        }
        records = source_records(known, "c", given, ThreadRuntime(), notices.append, idle=idle)
        try:
            return list(islice(records, limit))
        finally:
            records.close()

    return ask


@pytest.mark.parametrize("columns", ["yes", "no"])
def test_a_source_that_knows_its_end_is_read_to_it(read: Read, columns: str) -> None:
    """Batches are given record by record."""
    records = read("numbers", topic="t", records="10", columns=columns)

    assert [record.value for record in records] == [b'{"n":%d}' % n for n in range(1, 11)]
    assert records[-1].source_offset == {"next": 10}


def test_a_limit_ends_reading_and_stops_every_task(read: Read) -> None:
    """Tasks take turns, so each of them shows."""
    records = read("scripted", 5, tasks_max="2")

    assert [record.source_partition["task"] for record in records] == [0, 1, 0, 1, 0]
    assert sorted(ScriptedTask.stopped) == [0, 1]


def test_a_source_that_knows_no_end_is_left_when_it_is_idle(read: Read) -> None:
    assert read("scripted", does="silent") == []


def test_a_poll_that_may_be_repeated_is_repeated(read: Read) -> None:
    """As a worker does; the notice reaches the user."""
    (record,) = read("scripted", 1, does="stumble", idle=5)

    assert record.source_offset == {"row": 3}


def test_a_source_that_only_fails_is_not_taken_for_an_empty_one(read: Read, notices: list[str]) -> None:
    """Its own error is the answer."""
    with pytest.raises(TaskFailedError, match=r"c-0 .*the server said 503"):
        read("scripted", does="down")

    assert any("the server said 503" in text for text in notices)


def test_a_source_is_not_polled_during_its_retry_after(read: Read) -> None:
    """`retry_after`; meanwhile it counts as failing, so reading ends with what it said."""
    with pytest.raises(TaskFailedError, match="the server said 429"):
        read("scripted", does="busy", idle=0.5)

    assert ScriptedTask.polled == 3


@pytest.mark.parametrize(
    ("does", "kind", "what"),
    [
        ("raise", TaskFailedError, "task c-0 failed: ZeroDivisionError: per cent of nothing"),
        ("exit", TaskFailedError, "task c-0 failed: SystemExit: 0"),
        ("start", TaskFailedError, "task c-0 failed: OSError: no such table"),
        ("damaged", DamagedDataError, "row 7 is damaged"),
    ],
)
def test_a_task_that_fails_is_named_and_stopped(read: Read, does: str, kind: type[Exception], what: str) -> None:
    """With the exit code that its error has in a run."""
    with pytest.raises(kind, match=what):
        read("scripted", does=does)

    assert ScriptedTask.stopped == [0]


def test_wrong_properties_are_reported_at_once(read: Read) -> None:
    with pytest.raises(ConfigError) as refused:
        read("numbers", recrods="5")

    assert "did you mean 'records'?" in str(refused.value)
    assert "topic" in str(refused.value)


def test_the_reader_returns_only_records_a_task_would_commit(read: Read, notices: list[str]) -> None:
    """Transactions end where the task says; what it discards, or never ends, no reader of a topic would see either."""
    records = read("scripted", does="boundaries", transaction_boundary="connector")

    assert [record.source_offset for record in records] == [{"row": 1}, {"row": 2}]
    assert notices == ["task c-0 ended no transaction behind its last 2 records: left out"]


def test_a_task_that_cannot_be_made_is_named(read: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    def __init__(self: ScriptedTask, table: str) -> None:  # noqa: N807
        pass

    monkeypatch.setattr(ScriptedTask, "__init__", __init__)

    with pytest.raises(TaskFailedError, match=r"task c-0 failed: TypeError: .*missing 1 required positional argument"):
        read("scripted")
