"""Offsets of consumer groups that an embedded broker keeps wrongly are named by the history of a run (CHK-06)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest

from eosfw.checker import Judgement, check_history, read_history
from eosfw.errors import EosfwError, IndefiniteOutcomeError
from eosfw.ids import TopicPartition
from eosfw.protocols import ConsumerGroupMetadata
from eosfw.records import ProducerBatch
from eosfw_memory.server.coordinators.groups.group_metadata_manager import GroupMetadataManager
from eosfw_memory.server.coordinators.groups.group_records import OffsetKey
from eosfw_memory.server.coordinators.groups.offset_requests import OffsetRequests
from eosfw_memory.server.coordinators.groups.offsets import Offsets
from pytest_eos import EosHarness
from pytest_eos.runs.run import Run

GROUP = "copies"
WAIT = 10.0


@pytest.fixture
def run(eos: EosHarness, tmp_path: Path) -> Run:
    (tmp_path / "orders.txt").write_text("".join(f"order {number}\n" for number in range(20)))
    return eos.run("file", {"file": tmp_path / "orders.txt"})


@contextmanager
def copying(eos: EosHarness, run: Run, upto: int) -> Iterator[Any]:
    """An open transaction of a program that copies a run's records and goes on by the offset of its group."""
    with closing(eos.backend.producer("copier", transaction_timeout=60.0)) as producer:
        producer.init_transactions(WAIT)
        producer.begin_transaction()
        producer.send_batch(ProducerBatch("copies", [b"copy"], [None], 0))
        producer.send_offsets({TopicPartition(run.topics[0], 0): upto}, ConsumerGroupMetadata(GROUP), WAIT)
        yield producer


def copied(eos: EosHarness, run: Run, timeout_ms: int = 10_000) -> int:
    """Up to where the records are copied, which is waited for while it is pending."""
    one = TopicPartition(run.topics[0], 0)
    with closing(eos.backend.admin({"default.api.timeout.ms": str(timeout_ms)})) as admin:
        return admin.group_offsets(GROUP, [one]).get(one, -1)


def is_pending(eos: EosHarness, run: Run) -> bool:
    """Whether up to where the records are copied is not told for a moment."""
    try:
        copied(eos, run, 50)
    except EosfwError:
        return True
    return False


def test_offsets_of_groups_that_a_broker_keeps_well_are_no_anomaly(eos: EosHarness, run: Run) -> None:
    """CHK-06, CHK-02: also with an abort, a delete of the group, and a restart."""
    with copying(eos, run, 5) as producer:
        assert is_pending(eos, run)
        producer.commit_transaction(WAIT)
    with copying(eos, run, 9) as producer:
        producer.abort_transaction(WAIT)
    assert copied(eos, run) == 5
    eos.faults.add("restart", at="after-prepare")
    with copying(eos, run, 12) as producer, pytest.raises(IndefiniteOutcomeError):
        producer.commit_transaction(WAIT)
    assert copied(eos, run) == 12
    with closing(eos.backend.admin()) as admin:
        admin.delete_groups([GROUP])
    assert copied(eos, run) == -1
    eos.assert_no_anomaly(run)
    checked = check_history(read_history(eos.settings.folder / "history.jsonl"))
    assert checked.judgement is Judgement.GOOD
    assert not {"group-offset-fault", "unstable-offset"} & set(checked.not_looked_for)


@pytest.mark.parametrize("planted", [True, False])
def test_an_offset_that_is_given_without_its_commit_is_named(eos: EosHarness, run: Run, monkeypatch, planted) -> None:
    put = Offsets.put
    if planted:
        monkeypatch.setattr(Offsets, "put", lambda self, key, logged, _=None: put(self, key, logged))
    with copying(eos, run, 5) as producer:
        assert copied(eos, run) == 5 if planted else is_pending(eos, run)
        producer.abort_transaction(WAIT)
    named = rf"group-offset-fault: group {GROUP} was given 5 for {run.topics[0]}-0, which was not committed"
    with pytest.raises(AssertionError, match=named) if planted else nullcontext():
        eos.assert_no_anomaly(run)


def test_a_committed_offset_that_is_not_given_is_named(eos: EosHarness, run: Run, monkeypatch) -> None:
    with copying(eos, run, 5) as producer:
        producer.commit_transaction(WAIT)
    monkeypatch.setattr(Offsets, "end", lambda *_: None)
    monkeypatch.setattr(Offsets, "undecided", lambda *_: ())
    with copying(eos, run, 9) as producer:
        producer.commit_transaction(WAIT)
    assert copied(eos, run) == 5
    named = rf"group-offset-fault: group {GROUP} was given 5 for {run.topics[0]}-0, and 9 was committed"
    with pytest.raises(AssertionError, match=named):
        eos.assert_no_anomaly(run)


def test_an_offset_that_is_given_while_a_newer_one_is_pending_is_named(eos: EosHarness, run: Run, monkeypatch) -> None:
    fetch = OffsetRequests.fetch
    monkeypatch.setattr(OffsetRequests, "fetch", lambda *asked, **_: fetch(*asked, stable=False))
    with copying(eos, run, 5) as producer:
        producer.commit_transaction(WAIT)
    with copying(eos, run, 9) as producer:
        assert copied(eos, run) == 5
        producer.commit_transaction(WAIT)
    named = rf"unstable-offset: group {GROUP} was given 5 for {run.topics[0]}-0 while 9 was pending"
    with pytest.raises(AssertionError, match=named):
        eos.assert_no_anomaly(run)


def test_an_offset_that_was_forgotten_and_is_given_again_is_named(eos: EosHarness, run: Run, monkeypatch) -> None:
    with copying(eos, run, 5) as producer:
        producer.commit_transaction(WAIT)
    forget = Offsets.forget

    def forgets_but_for_copies(self: Offsets, key: OffsetKey) -> None:
        if key.group_id != GROUP:
            forget(self, key)

    monkeypatch.setattr(Offsets, "forget", forgets_but_for_copies)
    with closing(eos.backend.admin()) as admin:
        admin.delete_groups([GROUP])
    assert copied(eos, run) == 5
    with pytest.raises(AssertionError, match=r"group-offset-fault: .* was given 5 .*, which was forgotten"):
        eos.assert_no_anomaly(run)


def test_an_offset_that_a_coordinator_has_forgotten_after_a_restart_is_named(eos: EosHarness, run: Run, monkeypatch):
    with copying(eos, run, 5) as producer:
        producer.commit_transaction(WAIT)
    all_offsets = Offsets.all_offsets
    load = GroupMetadataManager.load

    def load_without_offsets(self: GroupMetadataManager, now_ms: int) -> None:
        load(self, now_ms)
        for _, key, _ in list(all_offsets(self.offsets)):
            self.offsets.forget(key)

    monkeypatch.setattr(GroupMetadataManager, "load", load_without_offsets)
    eos.faults.add("restart", at="after-InitProducerId")
    with pytest.raises(IndefiniteOutcomeError), copying(eos, run, 9):
        pass
    named = rf"forgotten-answer: .* holds for group {GROUP} -1 for {run.topics[0]}-0, and 5 was committed"
    with pytest.raises(AssertionError, match=named):
        eos.assert_no_anomaly(run)
