"""The history of a run is checked: a connector that behaves has no anomaly, one that does not is named (CHK-06)."""

from __future__ import annotations

from typing import Any

import pytest

from eosfw.checker import Judgement, check_history, read_history
from pytest_eos import EosHarness

LINES = [f"order {number}" for number in range(60)]


@pytest.fixture
def orders(tmp_path: Any) -> dict[str, object]:
    (tmp_path / "orders.txt").write_text("\n".join(LINES) + "\n")
    return {"file": tmp_path / "orders.txt", "batch.size": 10}


@pytest.mark.eos_zombie(at="all")
def test_a_zombie_at_any_step_leaves_a_history_without_an_anomaly(eos: EosHarness, orders) -> None:
    eos.assert_no_anomaly(eos.run("file", orders))


def test_the_history_is_left_as_a_file_that_can_be_checked_again(eos: EosHarness, orders) -> None:
    eos.assert_no_anomaly(eos.run("file", orders))
    checked = check_history(read_history(eos.settings.folder / "history.jsonl"))
    assert checked.judgement is Judgement.GOOD
    assert checked.records == len(LINES)
    assert checked.committed >= len(LINES) / 10
    seen_in_the_log = {"sequence-fault", "transaction-bleed", "marker-fault", "opposite-marker", "shared-epoch"}
    of_leader_and_coordinator = {"mixed-task-configs", "zombie-leader-write", "illegal-state", "unverified-append"}
    of_task = {"double-assignment", "boundary-violation"}
    assert not (seen_in_the_log | of_leader_and_coordinator | of_task) & set(checked.not_looked_for)


def test_records_of_aborted_transactions_that_a_reader_shows_are_anomalies(eos: EosHarness, orders) -> None:
    from eosfw.builtin.isolation import ReadUncommitted

    eos.use(isolation_reader=ReadUncommitted)
    zombie = eos.zombies.task("commit", nth=2)
    run = eos.create_run("file", orders)
    run.group.put(run.name, run.properties)
    zombie.await_frozen()
    run.group.put(run.name, {**run.properties, "batch.size": "7"})
    run.group.until_drained()
    zombie.wake().await_end()
    run.group.stop()
    with pytest.raises(AssertionError, match=r"source-record-twice: record 10 of .* is visible at ") as raised:
        eos.assert_no_anomaly(run)
    assert "commit info" in str(raised.value)
    assert "read-against-marker: " in str(raised.value)


def test_a_broker_that_commits_and_aborts_one_transaction_is_named(eos: EosHarness, orders, monkeypatch) -> None:
    from eosfw_memory.storage.log.partition_log import PartitionLog
    from eosfw_memory.storage.records.transaction_result import TransactionResult

    append = PartitionLog.append_marker

    def both(self: PartitionLog, producer: Any, result: Any, *more: Any) -> Any:
        append(self, producer, result, *more)
        return append(self, producer, TransactionResult.ABORT, *more)

    monkeypatch.setattr(PartitionLog, "append_marker", both)
    run = eos.run("file", orders)
    with pytest.raises(AssertionError, match=r"opposite-marker: "):
        eos.assert_no_anomaly(run)
