"""Transactions end where the boundary says."""

from __future__ import annotations

import threading
from contextlib import closing
from typing import Any, ClassVar

from tests.runtime.counting import CountingConnector

from eosfw.connectors import SourceTask
from eosfw.ids import TopicPartition
from eosfw.protocols import IsolationLevel
from eosfw.records import SourceRecord
from eosfw.state.steps import TaskStep

from .group import Group, exactly


class Fibonacci(SourceTask):
    """Sends runs of Fibonacci's lengths; commits runs of odd length, aborts those of even length."""

    def start(self, config: Any, context: Any) -> None:
        self.topic, self.ask = config["topic"], context.transaction
        self.next = (context.offset({"s": "f"}) or {"next": 0})["next"]
        self.sizes = iter([1, 1, 2, 3, 5, 8, 13])
        self.done = False

    def poll(self) -> Any:
        size = next(self.sizes, None)
        if size is None:
            self.done = True
            return None
        numbers = range(self.next, self.next + size)
        self.next += size
        records = [SourceRecord(self.topic, b"%d" % n, None, {"s": "f"}, {"next": n + 1}) for n in numbers]
        (self.ask.commit_record if size % 2 else self.ask.abort_record)(records[-1])
        return records

    def at_end(self) -> bool | None:
        return self.done


class FibonacciConnector(CountingConnector):
    task = Fibonacci

    def task_configs(self, config: Any, max_tasks: int) -> Any:
        return [{"topic": config["topic"]}]


def test_a_connector_commits_odd_runs_and_aborts_even_ones(cluster):
    """testConnectorBoundary, BND-02, BND-03: only odd ones are visible; offsets pass the aborted ones."""
    with Group(cluster, connector=FibonacciConnector()) as group:
        group.put(transaction_boundary="connector")
        group.until_drained()
        group.worker.stop(10.0)
        visible = sorted(int(value) for value in group.committed())

    assert visible == [0, 1, *range(4, 7), *range(7, 12), *range(20, 33)]
    with Group(cluster, group.name, connector=FibonacciConnector()) as again:
        again.put(transaction_boundary="connector")
        again.until_drained()
        assert sorted(int(value) for value in again.committed())[:4] == [0, 1, 4, 5]
        assert min(int(v) for v in again.committed() if int(v) > 32) == 33


def test_an_interval_holds_many_polls_in_one_transaction(cluster):
    """testIntervalBoundary, BND-07: as long as the interval lasts; what is left is committed at the stop."""
    with Group(cluster) as group:
        group.put(streams="1", until="200", batch="2", **interval(400_000))
        group.until_drained()
        assert TaskStep.COMMITTED not in steps(group)
        group.worker.stop(10.0)

        assert group.committed() == exactly(1, 200)
        assert steps(group).count(TaskStep.COMMITTED) == group.worker.status().transactions == 1


def test_an_interval_ends_a_transaction_while_its_source_goes_on(cluster):
    """testIntervalBoundary, BND-07."""
    with Group(cluster) as group:
        group.put(streams="1", until="0", batch="2", **interval(50))
        group.until(lambda: steps(group).count(TaskStep.COMMITTED) >= 3, "the third transaction")


def interval(milliseconds: int) -> dict[str, str]:
    return {"transaction_boundary": "interval", "transaction_boundary_interval_ms": str(milliseconds)}


def steps(group: Group) -> list[TaskStep]:
    return [event.step for event in group.events]


class OpenTail(SourceTask):
    """Sends three records and asks for nothing; `then` is what its second poll does.

    They are so large that no producer keeps them all back until the transaction ends.
    """

    then: ClassVar[Any] = None

    def start(self, config: Any, context: Any) -> None:
        self.topic, self.polls = config["topic"], 0

    def poll(self) -> Any:
        self.polls += 1
        if self.polls == 1:
            return [SourceRecord(self.topic, b"%d" % n * 700_000, None, {"s": "t"}, {"next": n + 1}) for n in range(3)]
        return self.then() if callable(self.then) else None


def open_tail(then: Any) -> CountingConnector:
    class OpenTailConnector(FibonacciConnector):
        task = type("OpenTail", (OpenTail,), {"then": staticmethod(then) if then else None})

    return OpenTailConnector()


LEVELS = (IsolationLevel.READ_COMMITTED, IsolationLevel.READ_UNCOMMITTED)
LONG = {"transaction_boundary": "connector", "producer_override_transaction_timeout_ms": "600000"}
"""So that nothing but an abort ends a transaction while a test waits."""


def ends(group: Group) -> tuple[int, int]:
    """The last stable offset, the high watermark."""
    where = TopicPartition(group.topic, 0)
    with closing(group.backend.admin()) as admin:
        stable, end = (admin.end_offsets([where], level)[where] for level in LEVELS)
    return stable, end


def until_sent(group: Group) -> None:
    """Wait until the open transaction holds readers of committed records back."""
    group.until_step(TaskStep.POLL, 2)
    group.until(lambda: ends(group)[1] > 0, "records of the open transaction")
    assert ends(group)[0] == 0


def until_readable(group: Group) -> None:
    """Wait until readers of committed records get to the end of the topic."""
    group.until(lambda: ends(group)[0] == ends(group)[1] > 1, "the end of the transaction")


def test_a_stop_aborts_the_open_transaction_of_a_connector(cluster):
    """TXN-11: it asked for no commit; readers must not wait for the transaction's timeout."""
    with Group(cluster, connector=open_tail(None)) as group:
        group.put(**LONG)
        until_sent(group)
        group.worker.stop(30.0)

        until_readable(group)
        assert group.committed() == []
        assert [event.step for event in group.events][-3:] == [TaskStep.ABORT, TaskStep.ABORTED, TaskStep.STOPPED]


def test_cancelling_a_task_aborts_its_open_transaction(cluster):
    """TXN-11: its poll does not return in time, so its producer aborts before it is closed."""
    asleep, woken = threading.Event(), threading.Event()

    def sleep() -> None:
        asleep.set()
        woken.wait(60.0)

    with Group(cluster, connector=open_tail(sleep)) as group:
        group.put(**LONG)
        assert asleep.wait(60.0)
        until_sent(group)
        group.worker.stop(0.1)

        until_readable(group)
        woken.set()
        assert group.committed() == []
