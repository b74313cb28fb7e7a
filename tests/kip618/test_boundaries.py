"""Transactions end where the boundary says."""

from __future__ import annotations

from typing import Any

from tests.runtime.counting import CountingConnector

from eosfw.connectors import SourceTask
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
    with Group(cluster.bootstrap_servers, connector=FibonacciConnector()) as group:
        group.put(transaction_boundary="connector")
        group.until_drained()
        group.worker.stop(10.0)
        visible = sorted(int(value) for value in group.committed())

    assert visible == [0, 1, *range(4, 7), *range(7, 12), *range(20, 33)]
    with Group(cluster.bootstrap_servers, group.name, connector=FibonacciConnector()) as again:
        again.put(transaction_boundary="connector")
        again.until_drained()
        assert sorted(int(value) for value in again.committed())[:4] == [0, 1, 4, 5]
        assert min(int(v) for v in again.committed() if int(v) > 32) == 33


def test_an_interval_holds_many_polls_in_one_transaction(cluster):
    """testIntervalBoundary, BND-07: fewer transactions, the same records, what is left committed at the stop."""
    with Group(cluster.bootstrap_servers) as group:
        group.put(
            streams="1", until="200", batch="2", transaction_boundary="interval", transaction_boundary_interval_ms="50"
        )
        group.until_drained()
        group.worker.stop(10.0)

        assert group.committed() == exactly(1, 200)
        transactions = [event.step for event in group.events].count(TaskStep.COMMITTED)
        assert 1 <= transactions < 100
        assert group.worker.status().transactions == transactions
