"""Records that a filter drops leave neither gaps nor repeats, and their source offsets commit."""

from __future__ import annotations

from tests.runtime.counting import expected

from eosfw.records import ProducerBatch, SourceRecord
from eosfw.state.steps import TaskStep

from .group import OVERLAP, Group


def dropped(value: bytes) -> bool:
    """Two of three, and all of the last ten."""
    number = int(value.partition(b":")[2])
    return number % 3 != 0 or number >= 80


class Dropped:
    """Chooses them record by record."""

    name = "dropped"

    def test(self, record: SourceRecord) -> bool:
        return dropped(record.value)


class DroppedColumns(Dropped):
    """Chooses them by columns."""

    name = "dropped columns"

    def test_batch(self, batch: ProducerBatch) -> list[bool]:
        return [dropped(value or b"") for value in batch.values]


FILTER = {
    "transforms": "drop",
    "transforms_drop_type": "Filter",
    "transforms_drop_predicate": "two",
    "predicates": "two",
}
KINDS = [Dropped, DroppedColumns]


def left(streams: int) -> list[bytes]:
    """What is not dropped of each stream's 90 numbers."""
    return sorted(value for value in expected(streams, 90) if not dropped(value))


@OVERLAP
def test_reconfigurations_keep_every_record_that_is_left_exactly_once(cluster, overlap):
    """TXN-04: 3, 1, 2 tasks, each stopped in the middle."""
    given = {"streams": "3", "until": "90", "batch": "4", "transaction_commit_overlap": overlap}
    with Group(cluster, predicates=KINDS) as group:
        for generation, tasks in enumerate((3, 1, 2)):
            kind = KINDS[generation % 2].name
            group.put(tasks_max=str(tasks), predicates_two_type=kind, **given, **FILTER)
            group.until_step(TaskStep.POLL, 3, generation=generation)
        group.until_drained()

        assert group.committed() == left(3)


def test_a_second_run_reads_no_dropped_record_again(cluster):
    """TXN-04: though the last ones of the source were all dropped."""
    given = {"streams": "2", "until": "90", "batch": "7", "predicates_two_type": "dropped"}
    with Group(cluster, predicates=KINDS) as first:
        first.put(**given, **FILTER)
        first.until_drained()
    with Group(cluster, first.name, predicates=KINDS) as second:
        second.put(**given, **FILTER)
        second.until_drained()

        assert second.worker.status().transactions == 0
        assert second.committed() == left(2)


def test_a_zombie_between_dropped_records_is_fenced(cluster):
    """FEN-06: a transaction of offsets alone is fenced as any other."""
    given = {"streams": "1", "until": "90", "batch": "10", "predicates_two_type": "dropped", **FILTER}
    with Group(cluster, predicates=KINDS) as group:
        group.wake_replaced(TaskStep.COMMIT, given, given, task=0, nth=9)

        assert group.committed() == left(1)
        assert [task.superseded for task in group.worker.status().retired] == [True]
