"""A connector that misbehaves harms nobody but its own task."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest
from tests.runtime.counting import CountingConnector

from eosfw.connectors import SourceTask
from eosfw.records import SourceRecord
from eosfw.runtime.status import TaskState

from .group import Group

BAD = SourceRecord("", b"bad", None, {"p": "a"}, {"next": float("nan")})


class Spoiling(SourceTask):
    """Sends three good records, then something bad, in one transaction if the boundary allows."""

    bad: ClassVar[Any] = None

    def start(self, config: Any, context: Any) -> None:
        self.topic = config["topic"]
        self.polls = 0

    def poll(self) -> Any:
        self.polls += 1
        good = [SourceRecord(self.topic, b"%d" % n, None, {"p": "a"}, {"next": n + 1}) for n in range(3)]
        if self.polls == 1:
            return good
        if isinstance(self.bad, BaseException):
            raise self.bad
        if self.bad is BAD:
            return [SourceRecord(self.topic, b"bad", None, {"p": "a"}, {"next": float("nan")})]
        return self.bad


class SpoilingConnector(CountingConnector):
    def __init__(self, bad: Any) -> None:
        self.task = type("Spoiling", (Spoiling,), {"bad": bad})

    def task_configs(self, config: Any, max_tasks: int) -> Any:
        return [{"topic": config["topic"]}]


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (ValueError("the source broke"), "the source broke"),
        (SystemExit(3), "3"),
        (["no record"], "a str at index 0"),
        (BAD, "nan"),
    ],
    ids=["raises", "exits", "no record", "offset that cannot be stored"],
)
def test_nothing_of_an_open_transaction_becomes_visible(cluster, bad, said):
    """TXN-05, TXN-11: good records of the same transaction are aborted with the bad one."""
    with Group(cluster.bootstrap_servers, connector=SpoilingConnector(bad)) as group:
        pause = "200" if bad is BAD else "60000"
        group.put(transaction_boundary="interval", transaction_boundary_interval_ms=pause)
        group.until(lambda: bool(group.worker.status().failures), "the failure")

        (task,) = group.worker.status().tasks
        assert (task.state, task.records) == (TaskState.FAILED, 0)
        assert said in str(task.error)
        assert group.committed() == []
