"""Each batch is published once, wherever its driver dies or is overtaken, on every backend (SPK-01, SPK-05).

A driver that dies is one that stops at an announced step and never goes on: its producer stays as it was, the
transaction open. The next driver is another committer with the same identity.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial

import pytest

from eosfw.concurrency import Runtime
from eosfw.errors import (
    ConfigError,
    DamagedDataError,
    IndefiniteOutcomeError,
    InvalidRecordError,
    RecordTooLargeError,
    UnknownTopicOrPartitionError,
)
from eosfw.observe import TaskStep
from eosfw.protocols import NewTopic
from eosfw.records import ProducerBatch
from eosfw.runtime import TransactionalCommit
from eosfw_spark.sink import topic_check
from eosfw_spark.sink.committer import AtomicCommitter, CommitBatch, CommitOutcome
from eosfw_spark.sink.tokens.token import BatchContent, Token, TokenDecision, decide
from eosfw_spark.sink.tokens.token_producer import TokenIdentity, TokenProducer
from pytest_eos.contracts.backends.harness import COMMITTED, WAIT, BackendHarness

from ..conftest import EACH_CLIENT
from .sink_harness import Killed, SinkHarness, dying_at

COMMIT_STEPS = (
    TaskStep.FENCE_BATCH,
    TaskStep.READ_TOKEN,
    TaskStep.PUBLISH_BATCH,
    TaskStep.COMMIT_BATCH,
    TaskStep.COMMITTED_BATCH,
)


pytestmark = pytest.mark.parametrize("lab", EACH_CLIENT, indirect=True)


class Query(SinkHarness):
    """One query whose drivers write to one topic."""

    def __init__(self, lab: BackendHarness) -> None:
        super().__init__(lab)
        self.identity = TokenIdentity.of_query(lab.name())

    def driver(self) -> AtomicCommitter:
        return AtomicCommitter(self.identity, self.cluster(), self.lab.runtime)

    def batch(self, number: int, *values: bytes, checkpoint: str = "") -> CommitBatch:
        content = BatchContent(b"-".join(values).hex(), len(values))

        def rows() -> Iterator[ProducerBatch]:
            for at, value in enumerate(values):
                yield ProducerBatch(self.topic, [value], partition=at % 2)

        def decided(last: Token | None) -> TokenDecision:
            return decide(self.identity.query, last, number, content, checkpoint=checkpoint)

        return CommitBatch(number, content, frozenset([self.topic]), rows, decided, checkpoint)

    def commit(self, driver: AtomicCommitter, number: int, *values: bytes) -> CommitOutcome:
        return driver.commit(self.batch(number, *(values or values_of(number))), self.announce)

    def killed_at(self, wanted: TaskStep, driver: AtomicCommitter, number: int) -> None:
        with pytest.raises(Killed):
            driver.commit(self.batch(number, *values_of(number)), dying_at(wanted))


def values_of(number: int) -> tuple[bytes, ...]:
    return tuple(b"%d-%d" % (number, each) for each in range(3))


def all_values(*numbers: int) -> list[bytes]:
    return [value for number in numbers for value in values_of(number)]


@pytest.fixture
def query(lab: BackendHarness) -> Query:
    return Query(lab)


def test_batches_are_published_with_one_fencing_for_all(query: Query) -> None:
    driver = query.driver()

    for number in range(3):
        assert query.commit(driver, number) is CommitOutcome.PUBLISHED

    assert query.published() == all_values(0, 1, 2)
    assert query.steps == [*COMMIT_STEPS, *COMMIT_STEPS[2:], *COMMIT_STEPS[2:]]


@pytest.mark.parametrize("step", COMMIT_STEPS, ids=lambda step: step.value)
@pytest.mark.parametrize("number", [0, 1])
def test_driver_killed_at_any_step_publishes_each_row_once(query: Query, step: TaskStep, number: int) -> None:
    """SPK-01, S1: Spark starts the same batch again. What the dead driver left open is aborted by its successor."""
    for before in range(number):
        query.commit(query.driver(), before)

    query.killed_at(step, query.driver(), number)
    successor = query.driver()
    outcome = query.commit(successor, number)
    query.commit(successor, number + 1)

    assert (outcome is CommitOutcome.SKIPPED) == (step is TaskStep.COMMITTED_BATCH)
    assert query.published() == all_values(*range(number + 2))


def test_driver_killed_right_behind_its_commit_is_not_repeated(query: Query, monkeypatch: pytest.MonkeyPatch) -> None:
    """SPK-01, SPK-05: the token is in the transaction of the rows, so whoever finds these finds it."""
    commit = TransactionalCommit.commit

    def commit_and_die(self: TransactionalCommit) -> None:
        commit(self)
        raise Killed

    monkeypatch.setattr(TransactionalCommit, "commit", commit_and_die)
    with pytest.raises(Killed):
        query.commit(query.driver(), 0)
    monkeypatch.undo()

    assert query.commit(query.driver(), 0) is CommitOutcome.SKIPPED
    assert query.published() == all_values(0)


def test_no_reader_sees_a_part_of_a_batch(query: Query, lab: BackendHarness) -> None:
    """SPK-02, S2: at each step a reader sees the batches before, whole, and nothing of this one."""
    driver, seen = query.driver(), []
    query.commit(driver, 0)

    def look(step: TaskStep, /, **detail: object) -> None:
        seen.append((step, sorted(lab.visible(query.topic), key=str)))

    driver.commit(query.batch(1, *values_of(1)), look)

    assert seen[:-1] == [(step, all_values(0)) for step in COMMIT_STEPS[2:4]]
    assert query.published() == all_values(0, 1)


@pytest.mark.parametrize("frozen_at", [TaskStep.PUBLISH_BATCH, TaskStep.COMMIT_BATCH], ids=lambda step: step.value)
def test_frozen_driver_publishes_nothing_after_its_successor(query: Query, frozen_at: TaskStep) -> None:
    """SPK-07: the second driver of one checkpoint does everything while the first one sleeps at a step."""
    first, second = query.driver(), query.driver()
    overtaken: list[TaskStep] = []
    query.commit(first, 0)

    def second_goes_first(step: TaskStep, /, **detail: object) -> None:
        if step is frozen_at and not overtaken:
            overtaken.append(step)
            query.commit(second, 1)
            query.commit(second, 2)

    outcome = first.commit(query.batch(1, *values_of(1)), second_goes_first)

    assert outcome is CommitOutcome.SKIPPED
    assert query.published() == all_values(0, 1, 2)


def test_driver_that_lost_its_turn_leaves_the_other_alone(query: Query) -> None:
    """SPK-07: two that fence each other in turn would never end; who finds its batch published does not fence."""
    first, second = query.driver(), query.driver()
    query.commit(first, 0)
    query.commit(second, 1)
    query.steps.clear()

    assert query.commit(first, 1) is CommitOutcome.SKIPPED
    assert TaskStep.FENCE_BATCH not in query.steps
    assert query.commit(second, 2) is CommitOutcome.PUBLISHED
    assert query.published() == all_values(0, 1, 2)


def test_another_process_of_the_same_driver_takes_over(query: Query) -> None:
    """Spark may run the commits of one query in several Python processes, each with a producer that it keeps."""
    one, other = query.driver(), query.driver()
    for number, driver in enumerate([one, other, one, one, other]):
        assert query.commit(driver, number) is CommitOutcome.PUBLISHED

    assert query.published() == all_values(0, 1, 2, 3, 4)


def test_living_query_with_the_same_id_is_refused(query: Query) -> None:
    """SPK-06."""
    first, second = query.driver(), query.driver()
    query.commit(first, 0)
    query.commit(second, 1)

    with pytest.raises(DamagedDataError, match=f"two drivers use the id of query {query.identity.query}"):
        query.commit(first, 1, b"others")

    assert query.published() == all_values(0, 1)


def test_replay_with_other_content_is_skipped_with_a_warning(query: Query, caplog: pytest.LogCaptureFixture) -> None:
    query.commit(query.driver(), 0)

    assert query.commit(query.driver(), 0, b"random") is CommitOutcome.SKIPPED

    assert f"query {query.identity.query} is not deterministic" in caplog.text
    assert query.published() == all_values(0)


def test_gap_of_batches_publishes_nothing(query: Query) -> None:
    """SPK-06."""
    query.commit(query.driver(), 0)

    with pytest.raises(DamagedDataError, match=f"query {query.identity.query} comes with batch 2"):
        query.commit(query.driver(), 2)

    assert query.published() == all_values(0)


def test_a_driver_that_was_fenced_says_so_where_it_finds_its_batch_published(query: Query) -> None:
    """A test that wakes it could not tell it from one that came too late to write."""
    told: list[object] = []
    first = query.driver()
    query.commit(first, 0)

    def published_meanwhile(step: TaskStep, /, **detail: object) -> None:
        if step is TaskStep.COMMIT_BATCH:
            query.commit(query.driver(), 1)
        told.append(detail.get("fencings"))

    outcome = first.commit(query.batch(1, *values_of(1)), published_meanwhile)

    assert (outcome, told[-1]) == (CommitOutcome.SKIPPED, 1)
    assert query.published() == all_values(0, 1)


def test_missing_topic_is_reported_before_any_row_is_written(query: Query, lab: BackendHarness) -> None:
    batch = query.batch(0, b"one")
    missing = lab.name()
    wrong = CommitBatch(0, batch.content, frozenset([missing]), batch.rows, batch.decide)

    with pytest.raises(UnknownTopicOrPartitionError, match=f"there is no topic {missing}; create it first"):
        query.driver().commit(wrong, query.announce)

    assert query.steps[-1] is TaskStep.READ_TOKEN
    assert missing not in lab.admin.partitions()
    assert query.published() == []


def test_a_partition_that_the_topic_does_not_have_is_named(query: Query) -> None:
    """By the row's partition and the topic's: the error of a client may name neither."""
    rows = [ProducerBatch(query.topic, [b"one"], partition=9)]

    with pytest.raises(DamagedDataError, match=f"a row has the partition 9, and topic {query.topic} has 2 partitions"):
        query.driver().commit(replace(query.batch(0), rows=lambda: rows), query.announce)

    assert query.published() == []


def test_rows_reach_the_partitions_that_a_topic_was_given_meanwhile(
    query: Query, embedded: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The producer is kept from batch to batch, with the partitions that it saw first."""
    monkeypatch.setattr(topic_check, "METADATA_AGE", 0.0)
    driver = query.driver()
    for number in range(2):
        rows = [ProducerBatch(query.topic, [b"%d" % number], partition=number + 1)]
        driver.commit(replace(query.batch(number), rows=lambda rows=rows: rows), query.announce)
        query.add_partition(embedded)

    assert query.published() == [b"0", b"1"]
    assert query.commit(driver, 1) is CommitOutcome.SKIPPED


def test_a_topic_that_was_created_again_is_refused(query: Query) -> None:
    """SPK-06: the rows of the batches before are gone, whether this batch is new or a replay."""
    driver = query.driver()
    query.commit(driver, 0)
    query.create_topic_again()

    for number in (0, 1):
        with pytest.raises(DamagedDataError, match=rf"topic {query.topic} with id.*startingBatchId to {number}"):
            query.commit(driver, number)

    assert query.published() == []
    assert driver.commit(replace(query.batch(1, b"one"), anew=True), query.announce) is CommitOutcome.PUBLISHED


def test_a_topic_that_was_deleted_is_not_taken_for_one_that_never_was(query: Query, lab: BackendHarness) -> None:
    """SPK-06: created by that advice, it would be without the rows of the batches before."""
    query.commit(query.driver(), 0)
    lab.admin.delete_topics([query.topic])

    with pytest.raises(DamagedDataError, match=rf"no topic {query.topic} any more, to which .*startingBatchId to 1"):
        query.commit(query.driver(), 1)


def test_the_token_of_one_who_commits_once_is_deleted(query: Query) -> None:
    driver = query.driver()
    query.commit(driver, 0)

    driver.delete_token()

    assert query.tokens.read(query.identity.key) is None
    assert query.published() == all_values(0)


def test_record_that_the_cluster_refuses_ends_the_batch_at_once(query: Query, lab: BackendHarness) -> None:
    """Each new transaction would meet the same refusal, and leave its rows in the log, aborted."""
    query.topic = f"{lab.name()}-compacted"
    lab.admin.create_topics([NewTopic(query.topic, 2, config={"cleanup.policy": "compact"})])

    with pytest.raises(InvalidRecordError):
        query.commit(query.driver(), 0)  # rows without a key

    assert query.steps.count(TaskStep.PUBLISH_BATCH) == 1
    assert lab.values(query.topic) == []


def test_record_that_is_too_large_names_the_option_of_spark(query: Query) -> None:
    with pytest.raises(RecordTooLargeError, match=r" kafka\.max\.request\.size"):
        query.driver().commit(query.batch(0, bytes(2 << 20)), query.announce)

    assert query.published() == []


def test_failing_rows_leave_no_open_transaction(query: Query, lab: BackendHarness) -> None:
    def rows() -> Iterator[ProducerBatch]:
        yield ProducerBatch(query.topic, [b"half"], partition=0)
        raise DamagedDataError("staged file is gone")

    batch = query.batch(0, b"half", b"other")
    with pytest.raises(DamagedDataError, match="staged file is gone"):
        query.driver().commit(CommitBatch(0, batch.content, batch.topics, rows, batch.decide), query.announce)

    # Reading to the high watermark would wait for an open transaction.
    assert lab.values(query.topic) == []
    assert query.commit(query.driver(), 0) is CommitOutcome.PUBLISHED


class FalseAnswers:
    """Calls of a producer whose answers are lost."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, happened: bool) -> None:
        self.lost = 0
        publish = TokenProducer.publish

        def lose(producer: TokenProducer, *arguments: object) -> None:
            if self.lost == 0:
                self.lost += 1
                if happened:
                    partial(publish, producer)(*arguments)  # type: ignore[arg-type]
                raise IndefiniteOutcomeError("the answer was lost")
            partial(publish, producer)(*arguments)  # type: ignore[arg-type]

        monkeypatch.setattr(TokenProducer, "publish", lose)


@pytest.mark.parametrize("happened", [True, False])
def test_commit_of_unknown_outcome_is_looked_up(
    query: Query, monkeypatch: pytest.MonkeyPatch, *, happened: bool
) -> None:
    """SPK-05: a new producer fences the old one, then the token tells whether the batch is there."""
    answers = FalseAnswers(monkeypatch, happened=happened)

    outcome = query.commit(query.driver(), 0)

    assert answers.lost == 1
    assert outcome is (CommitOutcome.SKIPPED if happened else CommitOutcome.PUBLISHED)
    assert query.steps.count(TaskStep.FENCE_BATCH) == 2
    assert query.published() == all_values(0)


class SlowBatch:
    """The rows of a batch take longer than its transaction, the given number of times."""

    def __init__(self, query: Query, runtime: Runtime, times: int) -> None:
        self._query, self._runtime, self._left = query, runtime, times
        self._given = query.batch(3, *values_of(3))

    def commit(self) -> CommitOutcome:
        batch = replace(self._given, rows=self._rows, decide=self._decide)
        self._query.timeout = 1.0
        return self._query.driver().commit(batch, self._query.announce)

    def _rows(self) -> Iterable[ProducerBatch]:
        self._left -= 1
        return self._until_aborted() if self._left >= 0 else self._given.rows()

    def _until_aborted(self) -> Iterator[ProducerBatch]:
        query, before, give_up = self._query, self._end(), self._runtime.now() + WAIT
        # The abort moves the last stable offset on.
        while self._end() == before and self._runtime.now() < give_up:
            yield ProducerBatch(query.topic, [bytes(1_000)] * 1_000, partition=0)
            self._runtime.sleep(0.1)

    def _end(self) -> int:
        return self._query.lab.end(self._query.topic, COMMITTED)

    def _decide(self, last: Token | None) -> TokenDecision:
        return decide(self._query.identity.query, last, 3, self._given.content, first=3)


def test_batch_always_slower_than_the_transaction_timeout_names_both(query: Query, runtime: Runtime) -> None:
    with pytest.raises(ConfigError, match=r"batch 3 of query \S+ \(3 rows\) took .* kafka.transaction.timeout.ms=1000"):
        SlowBatch(query, runtime, times=1_000).commit()  # a stall may end an attempt before its transaction

    assert query.published() == []


def test_batch_that_was_slow_once_is_published_once(query: Query, runtime: Runtime) -> None:
    """SPK-05: its driver or its broker stood still, as when a machine is suspended."""
    assert SlowBatch(query, runtime, times=1).commit() is CommitOutcome.PUBLISHED

    assert query.published() == all_values(3)
