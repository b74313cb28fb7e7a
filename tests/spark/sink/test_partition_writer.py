"""Each row of a partition is published once, whichever attempt wakes when (SPK-09), on every backend.

An attempt that is killed stops at an announced step and never goes on: its producer stays as it was, the transaction
open. One that is frozen goes on after its successor, as an executor behind SIGSTOP does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace

import pyarrow as pa
import pytest

from eosfw.errors import (
    ConfigError,
    DamagedDataError,
    ProducerFencedError,
    StepFailedError,
    UnknownTopicOrPartitionError,
)
from eosfw.observe import TaskStep
from eosfw.protocols import IsolationLevel
from eosfw.retry_timer import RetryTimer
from eosfw_spark.sink import partition_writer, topic_check
from eosfw_spark.sink.committer import CommitOutcome
from eosfw_spark.sink.partition_writer import PartitionWriter
from eosfw_spark.sink.tokens.partition_token import WriterBatch
from eosfw_spark.sink.tokens.token_producer import StepAnnouncer
from pytest_eos.contracts.backends.harness import WAIT, BackendHarness

from ..conftest import EACH_CLIENT
from .sink_harness import Killed, SinkHarness, dying_at

STEPS = (
    TaskStep.FENCE_BATCH,
    TaskStep.READ_TOKEN,
    TaskStep.PUBLISH_BATCH,
    TaskStep.WRITE_BATCH,
    TaskStep.STAGED_BATCH,
    TaskStep.COMMIT_BATCH,
    TaskStep.COMMITTED_BATCH,
)
BEFORE_FENCING = STEPS[0]
UNCOMMITTED = STEPS[1:-1]


@pytest.fixture
def query(lab: BackendHarness) -> Query:
    return Query(lab)


class Query(SinkHarness):
    """A query with two writers, whose attempts write to one topic."""

    def __init__(self, lab: BackendHarness) -> None:
        super().__init__(lab)
        names = (lab.name() for _ in range(100))
        # Whoever reads a token waits for those in the same partition that are undecided.
        self.name = next(name for name in names if self.keys_apart(name))

    def keys_apart(self, name: str) -> bool:
        keys = (name, *(f"{name}-{end}" for end in ("parts", 0, 1)))
        return len({self.tokens.partition(key) for key in keys}) == len(keys)

    def part(self, batch: int, partition: int = 0) -> WriterBatch:
        return WriterBatch(self.name, batch, partition, 2)

    def attempt(
        self,
        part: WriterBatch,
        announce: StepAnnouncer | None = None,
        rows: Iterable[pa.RecordBatch] | None = None,
        topic: str | None = None,
    ) -> CommitOutcome:
        with closing(self.process(part, topic)) as writer:
            return writer.write(part, rows_of(part) if rows is None else rows, announce or self.announce)

    def process(self, part: WriterBatch, topic: str | None = None) -> PartitionWriter:
        """What a process of an executor keeps."""
        return PartitionWriter(part.identity(part.partition), self.cluster(), topic or self.topic, self.lab.runtime)

    def kill_at(self, wanted: TaskStep, part: WriterBatch) -> None:
        with pytest.raises(Killed):
            self.attempt(part, dying_at(wanted))

    @contextmanager
    def frozen_at(self, wanted: TaskStep, part: WriterBatch, outcomes: list[object]) -> Iterator[None]:
        """An attempt that stops at a step and wakes at the end of the block."""
        frozen, awake = self.lab.runtime.event(), self.lab.runtime.event()

        def announce(step: TaskStep, /, **detail: object) -> None:
            if step is wanted:
                frozen.set()
                assert awake.wait(WAIT)

        def run() -> None:
            try:
                outcomes.append(self.attempt(part, announce))
            except Exception as why:  # noqa: BLE001 - the test judges it
                outcomes.append(why)
                frozen.set()

        thread = self.lab.runtime.spawn("zombie", run)
        assert frozen.wait(WAIT)
        try:
            yield
        finally:
            awake.set()
            assert thread.join(WAIT)


def values(part: WriterBatch) -> list[bytes]:
    return [b"%d-%d-%d" % (part.batch, part.partition, each) for each in range(3)]


def rows_of(*parts: WriterBatch) -> list[pa.RecordBatch]:
    return [pa.RecordBatch.from_pydict({"value": pa.array(values(part), pa.binary())}) for part in parts]


def all_values(*parts: WriterBatch) -> list[bytes]:
    return sorted(value for part in parts for value in values(part))


def test_each_partition_is_published_once_batch_after_batch(query: Query) -> None:
    parts = [query.part(batch, partition) for batch in (0, 1, 2) for partition in (1, 0)]

    first = [query.attempt(part) for part in parts]
    again = [query.attempt(part) for part in parts]

    assert set(first) == {CommitOutcome.PUBLISHED}
    assert set(again) == {CommitOutcome.SKIPPED}
    assert query.published() == all_values(*parts)


def test_a_process_fences_only_for_its_first_batch(query: Query) -> None:
    parts = [query.part(0), query.part(1), query.part(2)]

    with closing(query.process(parts[0])) as writer:
        for part in parts:
            writer.write(part, rows_of(part), query.announce)

    assert query.steps.count(TaskStep.FENCE_BATCH) == 1
    assert query.published() == all_values(*parts)


def test_a_process_fences_again_behind_another_ones_batch(query: Query) -> None:
    parts = [query.part(0), query.part(1), query.part(2)]

    with closing(query.process(parts[0])) as writer:
        writer.write(parts[0], rows_of(parts[0]), query.announce)
        query.attempt(parts[1])
        written = writer.write(parts[2], rows_of(parts[2]), query.announce)

    assert written is CommitOutcome.PUBLISHED
    assert query.published() == all_values(*parts)


def test_a_process_that_missed_an_attempt_of_its_batch_looks_anew(query: Query) -> None:
    parts = [query.part(0), query.part(1)]

    with closing(query.process(parts[0])) as writer:
        writer.write(parts[0], rows_of(parts[0]), query.announce)
        query.attempt(parts[1])
        again = writer.write(parts[1], iter(rows_of(parts[1])), query.announce)

    assert again is CommitOutcome.SKIPPED
    assert query.published() == all_values(*parts)


@pytest.mark.parametrize("step", UNCOMMITTED, ids=lambda step: step.value)
def test_a_process_publishes_what_another_one_died_with(query: Query, step: TaskStep) -> None:
    """The rows come from Spark once, and were sent with the producer that the dead process had fenced."""
    parts = [query.part(0), query.part(1)]

    with closing(query.process(parts[0])) as writer:
        writer.write(parts[0], rows_of(parts[0]), query.announce)
        query.kill_at(step, parts[1])
        written = writer.write(parts[1], iter(rows_of(parts[1])), query.announce)

    assert written is CommitOutcome.PUBLISHED
    assert query.published() == all_values(*parts)


@pytest.mark.parametrize("lab", EACH_CLIENT, indirect=True)
@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.value)
def test_an_attempt_that_dies_at_any_step_is_repeated_exactly_once(query: Query, step: TaskStep) -> None:
    parts = [query.part(0), query.part(1), query.part(2)]
    query.attempt(parts[0])
    query.kill_at(step, parts[1])

    again = query.attempt(parts[1])
    query.attempt(parts[2])

    assert again is (CommitOutcome.SKIPPED if step is STEPS[-1] else CommitOutcome.PUBLISHED)
    assert query.published() == all_values(*parts)


@pytest.mark.parametrize("step", UNCOMMITTED, ids=lambda step: step.value)
def test_a_frozen_attempt_is_fenced_by_the_next_one(query: Query, step: TaskStep) -> None:
    part, zombie = query.part(0), list[object]()

    with query.frozen_at(step, part, zombie):
        assert query.attempt(part) is CommitOutcome.PUBLISHED

    (outcome,) = zombie
    # One that has fenced, yet not read, finds the token of its successor.
    if step is TaskStep.READ_TOKEN:
        assert outcome is CommitOutcome.SKIPPED
    else:
        assert isinstance(outcome, ProducerFencedError)
        assert f"partition 0 of batch 0 of query {query.name}" in str(outcome)
    assert query.published() == all_values(part)


def test_a_zombie_that_wakes_before_fencing_skips_what_was_published(query: Query) -> None:
    part, zombie = query.part(0), list[object]()

    with query.frozen_at(BEFORE_FENCING, part, zombie):
        query.attempt(part)

    assert zombie == [CommitOutcome.SKIPPED]
    assert query.published() == all_values(part)


def test_a_zombie_of_an_earlier_batch_disturbs_the_next_one_once(query: Query) -> None:
    """It fences the writer of the next batch, publishes nothing, and Spark's next attempt goes on."""
    first, second, late, fenced = query.part(0), query.part(1), list[object](), list[object]()

    with query.frozen_at(BEFORE_FENCING, first, late):
        query.attempt(first)
        freezing = query.frozen_at(TaskStep.COMMIT_BATCH, second, fenced)
        freezing.__enter__()
    freezing.__exit__(None, None, None)

    assert late == [CommitOutcome.SKIPPED]
    assert isinstance(fenced[0], ProducerFencedError)
    assert query.attempt(second) is CommitOutcome.PUBLISHED
    assert query.published() == all_values(first, second)


def test_partitions_are_published_side_by_side(query: Query) -> None:
    """A writer that is frozen with its transaction open holds back none but its own."""
    parts, zombie = [query.part(0, 0), query.part(0, 1)], list[object]()

    with query.frozen_at(TaskStep.COMMIT_BATCH, parts[0], zombie):
        assert query.attempt(parts[1]) is CommitOutcome.PUBLISHED

    assert zombie == [CommitOutcome.PUBLISHED]
    assert query.published() == all_values(*parts)


def test_a_partition_beyond_the_writers_is_refused_before_anything(query: Query) -> None:
    with pytest.raises(ConfigError, match=r"the option writers is 2.*df\.repartition\(2\) or df\.coalesce\(2\)"):
        query.attempt(query.part(0, 2))

    assert query.steps == []
    assert query.published() == []


def test_more_writers_finish_a_batch_with_more_partitions(query: Query) -> None:
    """What has landed stays, the rest follows."""
    parts = [replace(query.part(0, partition), writers=3) for partition in range(3)]
    query.attempt(query.part(0, 0))
    with pytest.raises(ConfigError):
        query.attempt(query.part(0, 2))

    outcomes = [query.attempt(part) for part in parts]

    assert outcomes == [CommitOutcome.SKIPPED, CommitOutcome.PUBLISHED, CommitOutcome.PUBLISHED]
    assert query.published() == all_values(*parts)


def test_a_batch_that_is_divided_otherwise_among_more_writers_writes_nothing(
    query: Query, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of two writers had published: no partition goes on before that one has compared its rows."""
    query.attempt(query.part(0, 0))
    query.attempt(query.part(0, 1))
    published = query.part(1, 1)
    query.attempt(published)

    with monkeypatch.context() as hurried:
        # Nobody is going to compare them, and the calls before may take their time.
        hurried.setattr(partition_writer, "RetryTimer", lambda runtime, _, **how: RetryTimer(runtime, 0.0, **how))
        for partition in (0, 2):
            with pytest.raises(StepFailedError, match=r"partition 1 has not compared its rows.*option writers to 2"):
                query.attempt(replace(query.part(1, partition), writers=3))
    with pytest.raises(DamagedDataError, match=r"is not deterministic, or .* copy: partition 1 of batch 1"):
        query.attempt(replace(published, writers=3), rows=rows_of(query.part(1, 0)))

    assert query.published() == all_values(query.part(0, 0), query.part(0, 1), published)
    assert query.attempt(query.part(1, 0)) is CommitOutcome.PUBLISHED


def test_a_batch_that_was_begun_with_more_writers_is_not_ended_with_fewer(query: Query) -> None:
    """The third writer joined, while the first one still has the token of the batch before."""
    for partition in (0, 1):
        query.attempt(query.part(0, partition))
    joined = replace(query.part(1, 2), writers=3)
    query.attempt(joined)

    with pytest.raises(DamagedDataError, match=r"has 3 writers since batch 1.*set it to 3 again"):
        query.attempt(query.part(1, 0))

    assert query.published() == all_values(query.part(0, 0), query.part(0, 1), joined)


@pytest.mark.parametrize("lab", EACH_CLIENT, indirect=True)
def test_rows_reach_the_partitions_that_a_topic_was_given_meanwhile(
    query: Query, embedded: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(topic_check, "METADATA_AGE", 0.0)

    def rows(batch: int) -> list[pa.RecordBatch]:
        columns = {"value": pa.array([b"%d" % batch], pa.binary()), "partition": pa.array([batch + 1], pa.int32())}
        return [pa.RecordBatch.from_pydict(columns)]

    with closing(query.process(query.part(0))) as writer:
        for batch in range(2):
            writer.write(query.part(batch), rows(batch), query.announce)
            query.add_partition(embedded)

    assert query.published() == [b"0", b"1"]


def test_a_topic_that_was_created_again_is_refused(query: Query) -> None:
    query.attempt(query.part(0))
    query.create_topic_again()

    with pytest.raises(DamagedDataError, match=f"topic {query.topic} with id.*new checkpoint.*startingBatchId to 1"):
        query.attempt(query.part(1))

    assert query.published() == []
    query.attempt(replace(query.part(1), first=1))
    assert query.published() == all_values(query.part(1))


def test_a_partition_without_rows_has_a_token(query: Query) -> None:
    assert query.attempt(query.part(0), rows=[]) is CommitOutcome.PUBLISHED
    assert query.attempt(query.part(0), rows=[]) is CommitOutcome.SKIPPED

    query.attempt(query.part(1))
    assert query.published() == all_values(query.part(1))


def test_a_row_that_fails_aborts_the_transaction(query: Query) -> None:
    part = query.part(0)

    def rows() -> Iterator[pa.RecordBatch]:
        yield from rows_of(part)
        raise DamagedDataError("a row has no topic")

    with pytest.raises(DamagedDataError, match="a row has no topic"):
        query.attempt(part, rows=rows())

    # Nothing holds readers back: the transaction does not wait for its timeout.
    assert query.published() == []
    assert query.attempt(part) is CommitOutcome.PUBLISHED


def test_a_missing_topic_is_named_and_not_created(query: Query) -> None:
    absent = query.lab.name()

    with pytest.raises(UnknownTopicOrPartitionError, match=f"there is no topic {absent}; create it first"):
        query.attempt(query.part(0), topic=absent)

    assert absent not in query.lab.admin.partitions()


def test_a_transaction_timeout_shorter_than_a_batch_is_named(query: Query) -> None:
    query.timeout = 1.0
    part, topic = query.part(0), query.topic

    def ends() -> int:
        return sum(query.lab.end(topic, IsolationLevel.READ_COMMITTED, partition) for partition in range(2))

    def announce(step: TaskStep, /, **detail: object) -> None:
        if step is TaskStep.COMMIT_BATCH:
            query.lab.until(ends, lambda end: end > 0)

    with pytest.raises(ConfigError, match=r"longer than kafka\.transaction\.timeout\.ms=1000"):
        query.attempt(part, announce)

    assert query.published() == []
