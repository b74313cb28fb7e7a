"""Bugs that are planted in real runs are named by the histories that pytest-eos writes of them (CHK-06)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from tests.pytest_eos.bounded import EveryPoll, Groups
from tests.pytest_eos.broken import Through
from tests.pytest_eos.counter import CounterConnector, CounterTask, connector

from eosfw.builtin.isolation import ReadCommitted
from eosfw.builtin.offset_store import KafkaOffsetStore
from eosfw.checker import read_history
from eosfw.errors import IndefiniteOutcomeError, RequestTimeoutError
from eosfw.records import LogBatch
from eosfw.runtime.storage.connector_offset_backing_store import ConnectorOffsetBackingStore
from eosfw.state.group.request_signature import ReplayCache
from eosfw.state.storage.combined_offsets import CombinedOffsets
from eosfw.state.tasks.boundary import End, IntervalBoundary, RequestedBoundary
from pytest_eos import EosHarness

LINES = [f"order {number}" for number in range(60)]


@pytest.fixture
def orders(tmp_path: Path) -> dict[str, object]:
    (tmp_path / "orders.txt").write_text("\n".join(LINES) + "\n")
    return {"file": tmp_path / "orders.txt", "batch.size": 10}


class Reluctant(Through):
    """A backend of which the second commit of a task never arrives, though all that it would commit has."""

    def __init__(self, real: Any) -> None:
        super().__init__(real)
        self.commits: list[str] = []

    def producer(self, transactional_id, **how):
        return ReluctantProducer(self.real.producer(transactional_id, **how), self.commits)


class ReluctantProducer(Through):
    def __init__(self, real: Any, commits: list[str]) -> None:
        super().__init__(real)
        self.commits = commits

    def commit_transaction(self, timeout):
        if "-file-" in (self.transactional_id or ""):
            self.commits.append(self.transactional_id)
            if len(self.commits) == 2:
                self.real.flush(timeout)
                raise IndefiniteOutcomeError("no answer")
        self.real.commit_transaction(timeout)


def test_a_start_at_an_offset_without_a_commit_is_named(eos: EosHarness, orders, monkeypatch) -> None:
    monkeypatch.setattr("eosfw.config.clients.offsets_isolation", lambda *_: "read_uncommitted")
    eos.use(wrap_backend=Reluctant)
    run = eos.run("file", orders)
    with pytest.raises(AssertionError, match=r"dirty-start: .* goes on after record 19 of "):
        eos.assert_no_anomaly(run)


class Forgetful(KafkaOffsetStore):
    """Writes the first offset of all once more in its third transaction."""

    def __init__(self) -> None:
        self.written: list[Any] = []

    def encode(self, connector, topic, offsets):
        self.written.append(offsets)
        return super().encode(connector, topic, self.written[0] if len(self.written) == 3 else offsets)


def test_an_offset_that_goes_back_is_named(eos: EosHarness, orders) -> None:
    eos.use(offset_store=Forgetful)
    run = eos.run("file", orders)
    with pytest.raises(AssertionError, match=r"offset-regression: the offset of .* went back from 19 to 9"):
        eos.assert_no_anomaly(run)


@connector()
class OwnOffsetsTopic(CounterTask):
    def record(self, stream, number):
        return replace(super().record(stream, number), topic="both", key=b"key")


def test_a_record_for_its_own_offsets_topic_is_named(eos: EosHarness, monkeypatch) -> None:
    monkeypatch.setattr("eosfw.runtime.tasks.transaction.SourceTaskTransaction._admit", lambda *_: None)
    run = eos.run(OwnOffsetsTopic, {"offsets.storage.topic": "both"})
    with pytest.raises(AssertionError, match=r"own-offsets-topic: .* its own offsets topic"):
        eos.assert_no_anomaly(run)


def test_a_start_by_the_topic_that_does_not_go_first_is_named(eos: EosHarness, orders, tmp_path, monkeypatch) -> None:
    run = eos.create_run("file", orders)
    run.group.put(run.name, run.properties)
    run.group.until_drained()
    monkeypatch.setattr(CombinedOffsets, "offsets", lambda found: {**found.own, **found.worker})
    for copies in ("before_commit", "after_commit"):
        monkeypatch.setattr(ConnectorOffsetBackingStore, copies, lambda *_: None)
    for size in (5, 6):
        with (tmp_path / "orders.txt").open("a") as file:
            file.writelines(f"order {size}{number}\n" for number in range(20))
        run.group.put(run.name, {**run.properties, "batch.size": str(size), "offsets.storage.topic": "own"})
        run.group.until_drained()
    run.group.stop()
    monkeypatch.undo()  # the replay has to know how far the run got
    with pytest.raises(
        AssertionError, match=r"offsets-topic-switch: .* goes on after record 59 of .*, and own has \d+"
    ):
        eos.assert_no_anomaly(run)


class Overwhelmed:
    """A fencer whose answer never comes."""

    name = "overwhelmed"

    @classmethod
    def connect(cls, backend, properties, runtime):
        return cls()

    def fence(self, transactional_ids, timeout):
        raise RequestTimeoutError("no answer")

    def close(self):
        pass


def test_a_task_that_failed_for_good_by_a_fencing_that_timed_out_is_named(eos: EosHarness, monkeypatch) -> None:
    run = eos.create_run(CounterConnector)
    run.group.put(run.name, run.properties)
    run.group.until_drained()
    monkeypatch.setattr("eosfw.runtime.tasks.startup.may_pass", lambda _: False)
    eos.use(fencer=Overwhelmed)
    run.group.put(run.name, {**run.properties, "batch": "7"})
    eos.waiter.until(lambda: bool(run.group.failures()), "a task that fails")
    run.group.stop()
    with pytest.raises(AssertionError, match=r"failed-for-good: task counter-0 of generation 1 has failed for good"):
        eos.assert_no_anomaly(run)


class Impatient(ReadCommitted):
    """Stops before the last record of a batch."""

    name = "read_committed"

    def read(self, ranges, stall_timeout) -> Iterator[Any]:
        for batch in super().read(ranges, stall_timeout):
            yield _shortened(batch) if isinstance(batch, LogBatch) else batch


def _shortened(batch: LogBatch) -> LogBatch:
    columns = (batch.offsets, batch.keys, batch.values, batch.timestamps)
    return LogBatch(
        batch.topic, batch.partition, *(each[:-1] for each in columns), batch.headers and batch.headers[:-1]
    )


def test_a_committed_record_that_the_reader_leaves_out_is_named(eos: EosHarness, orders) -> None:
    eos.use(isolation_reader=Impatient)
    run = eos.run("file", orders)
    with pytest.raises(AssertionError, match=r"unseen: .* no reader was given it to the end"):
        eos.assert_no_anomaly(run)


def test_an_epoch_that_is_given_again_is_named(eos: EosHarness, monkeypatch) -> None:
    from eosfw_memory.server.coordinators import decisions
    from eosfw_memory.storage.log import producer_state

    run = eos.create_run(CounterConnector)
    run.group.put(run.name, run.properties)
    run.group.until_drained()
    given = decisions._bumped

    def first_one_again(known: Any, expected: Any, *times: int) -> Any:
        return given(known._replace(epoch=-1), expected, *times)

    monkeypatch.setattr(decisions, "_bumped", first_one_again)
    monkeypatch.setattr(producer_state, "_check_epoch", lambda *_: None)
    run.group.put(run.name, {**run.properties, "until": "30"})
    run.group.until_drained()
    run.group.stop()
    with pytest.raises(AssertionError, match=r"epoch-fault: producer \d+ was given epoch 0 after epoch 0"):
        eos.assert_no_anomaly(run)


def test_a_transaction_that_outlives_its_interval_is_named(eos: EosHarness, monkeypatch) -> None:
    made, poll, polls = IntervalBoundary.__init__, CounterTask.poll, []
    monkeypatch.setattr(IntervalBoundary, "__init__", lambda self, interval: made(self, 9_000 * interval))
    monkeypatch.setattr(CounterTask, "poll", lambda self: (polls.append(eos.runtime.now()), poll(self))[1])
    interval = {"transaction.boundary": "interval", "transaction.boundary.interval.ms": 300}
    run = eos.create_run(CounterConnector, {"tasks.max": 1, **interval})
    run.group.put(run.name, run.properties)
    eos.waiter.until(lambda: len(polls) > 1, "a poll behind the begin of the transaction")
    begun = eos.runtime.now()
    eos.waiter.until(lambda: sum(at > begun + 0.3 for at in polls) > 2, "polls behind the end of its interval")
    run.group.stop()
    with pytest.raises(AssertionError, match=r"boundary-violation: transaction 1 of .* is open while .* polls again"):
        eos.assert_no_anomaly(run)


@pytest.mark.parametrize(
    ("kind", "method", "what"),
    [
        (EveryPoll, "after_batch", "transaction 1 of .* is open while .* polls again"),
        (Groups, "after_record", "transaction 1 of .* goes on behind record 2 of "),
        (Groups, "after_batch", "transaction 2 of .* is committed, and its connector did not ask to end it"),
    ],
)
def test_a_transaction_that_does_not_end_where_it_was_asked_to_is_named(
    eos: EosHarness, monkeypatch, kind, method, what
) -> None:
    run = eos.run(kind, {"transaction.boundary": "connector"})
    eos.assert_no_anomaly(run)
    monkeypatch.setattr(RequestedBoundary, method, _the_other_way_round(getattr(RequestedBoundary, method)))
    run = eos.run(kind, {"transaction.boundary": "connector"}, worker=eos.worker("other"))
    with pytest.raises(AssertionError, match=f"boundary-violation: {what}"):
        eos.assert_no_anomaly(run)


def _the_other_way_round(method: Any) -> Any:
    """The first time, keeps a transaction that has to end, or ends one that does not."""
    ends = count()

    def called(self: RequestedBoundary, *given: Any) -> End:
        end: End = method(self, *given)
        if end is End.KEEP and method.__name__ == "after_record":
            return end
        return end if next(ends) else {End.KEEP: End.COMMIT}.get(end, End.KEEP)

    return called


def test_state_that_is_rebuilt_differently_after_a_restart_is_named(eos: EosHarness, monkeypatch) -> None:
    from eosfw_memory.storage.log.partition_log import PartitionLog

    rebuild = PartitionLog.rebuild_producer_state

    def without_idle_producers(self: PartitionLog) -> None:
        rebuild(self)
        known = self.state.producers.known()
        for producer_id in [each for each in known if self.first_offset_of(each) is None]:
            del known[producer_id]

    eos.faults.add("restart", at="after-marker", nth=5)
    run = eos.run(CounterConnector)
    eos.assert_no_anomaly(run)
    monkeypatch.setattr(PartitionLog, "rebuild_producer_state", without_idle_producers)
    eos.faults.add("restart", at="after-complete", nth=5)
    run = eos.run(CounterConnector, worker=eos.worker("other"))
    with pytest.raises(AssertionError, match=r"rebuilt-state-fault: after a restart of broker the state of "):
        eos.assert_no_anomaly(run)


def test_an_epoch_that_a_coordinator_has_forgotten_after_a_restart_is_named(eos: EosHarness, monkeypatch) -> None:
    from eosfw_memory.server.coordinators.transaction_state_manager import TransactionStateManager

    load = TransactionStateManager.load

    def load_without_the_last_epoch(self: TransactionStateManager) -> None:
        load(self)
        self._metadata = {name: known._replace(epoch=known.epoch - 1) for name, known in self._metadata.items()}

    eos.faults.add("restart", at="after-marker", nth=5)
    run = eos.run(CounterConnector)
    eos.assert_no_anomaly(run)
    named = {each.op for each in read_history(eos.settings.folder / "history.jsonl")}
    assert {"answered", "held"} <= named
    eos.faults.add("restart", at="after-complete", nth=5)
    monkeypatch.setattr(TransactionStateManager, "load", load_without_the_last_epoch)
    run = eos.run(CounterConnector, worker=eos.worker("other"))
    with pytest.raises(
        AssertionError, match=r"forgotten-answer: .* the coordinator holds \w+ in epoch \d+ of producer "
    ):
        eos.assert_no_anomaly(run)


def test_a_committed_record_that_a_restart_has_taken_is_named(eos: EosHarness, orders, monkeypatch) -> None:
    from eosfw_memory.storage.log.partition_log import PartitionLog

    rebuild = PartitionLog.rebuild_producer_state

    def cut_off(self: PartitionLog) -> None:
        rebuild(self)
        if self.where.topic.endswith("-file"):
            self.delete_before(15)

    monkeypatch.setattr(PartitionLog, "rebuild_producer_state", cut_off)
    eos.faults.add("restart", at="after-complete", nth=5)
    run = eos.run("file", orders)
    with pytest.raises(AssertionError, match=r"lost-after-crash: .* should outlive the process of the broker"):
        eos.assert_no_anomaly(run)


@pytest.mark.parametrize("checked", [True, False])
def test_a_request_of_a_worker_that_is_accepted_twice_is_named(eos: EosHarness, monkeypatch, checked) -> None:
    if not checked:
        monkeypatch.setattr(ReplayCache, "first_seen", lambda *_: True)
    group = eos.distributed(2)
    run = eos.create_run(CounterConnector, worker=group)
    group.put(run.name, run.properties)
    group.until_drained()
    request = next(each for each in group.exchanges if each.accepted)
    group._herders.network.servers[request.worker].answer(request.request)
    group.stop("b")
    group.stop("a")
    named = r"wrong-signature: .* accepted PUT .*, which it had accepted before"
    with nullcontext() if checked else pytest.raises(AssertionError, match=named):
        eos.assert_no_anomaly(run)
