"""A failed verdict says where to look first."""

from __future__ import annotations

import pytest
from tests.pytest_eos import broken, broken_sources
from tests.pytest_eos.counter import CounterConnector, CounterTask, connector

from eosfw.errors import DamagedDataError
from eosfw.records import SourceRecord
from pytest_eos.verdict import failure_hints


@connector(name="sharing")
class Sharing(CounterTask):
    """Calls every stream by the first one's name."""

    def record(self, stream: str, number: int) -> SourceRecord:
        return super().record("s0", number)


def likely(eos, connector) -> list[str]:
    """What the verdict on a run, that is not exactly once, calls likely."""
    run = eos.run(connector, {"until": 24})
    once = {repr((one.source_partition, one.source_offset)): one for one in run.source_records()}
    with pytest.raises(AssertionError, match="not exactly once") as found:
        eos.assert_exactly_once(run, once.values())
    return [line.partition("likely: ")[2] for line in str(found.value).splitlines() if "likely: " in line]


@pytest.mark.eos_zombie(at="commit")
def test_a_task_that_ignores_the_committed_offset_is_named(eos):
    """A restarted task must read the committed offsets and replay from there."""
    assert likely(eos, broken_sources.Forgetful) == [failure_hints.SUCCESSOR]


@pytest.mark.eos_zombie(at="send-offsets")
def test_a_zombie_that_was_not_fenced_is_no_fault_of_the_connector(eos):
    """FEN-01: what a successor wrote again may have been committed too late."""
    eos.use(fencer=broken.IdleFencer)

    assert likely(eos, CounterConnector) == [failure_hints.ZOMBIE]


def test_a_task_that_gives_a_record_twice_is_named(eos):
    assert likely(eos, broken_sources.Stuttering) == [failure_hints.TWICE]


def test_tasks_that_share_a_source_partition_are_named(eos):
    """KIP-618: by the replay and by assertions with expected values."""
    run = eos.run(Sharing, {"until": 24})

    with pytest.raises(DamagedDataError, match=r"^tasks sharing-0 and sharing-1 both give .* list of their class"):
        run.source_records()
    with pytest.raises(AssertionError, match=f"likely: {failure_hints.SHARED}"):
        eos.assert_exactly_once(run, [b"s0:%d" % number for number in range(24)])


@pytest.mark.eos_zombie(at="commit")
def test_a_reader_of_aborted_records_is_not_blamed_on_the_connector(eos):
    eos.use(isolation_reader=broken.ShowsAll)

    assert likely(eos, CounterConnector) == []
