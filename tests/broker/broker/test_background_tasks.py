"""Background tasks of the broker, each with an interval of its own on a clock that tests advance."""

from __future__ import annotations

import pytest

from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw_memory.common.background_tasks import BackgroundTasks
from eosfw_memory.storage.records.codec import encode_batch

WEEK = 604_800


@pytest.fixture
def background_tasks():
    return BackgroundTasks()


def test_each_task_runs_once_per_interval_and_once_if_it_was_missed_for_long(background_tasks):
    done = []
    background_tasks.add("often", 10, lambda now_ms: done.append(("often", now_ms)), 0)
    background_tasks.add("seldom", 25, lambda now_ms: done.append(("seldom", now_ms)), 0)

    for now_ms in (9, 10, 19, 20, 25, 30, 1000, 1001):
        background_tasks.run(now_ms)

    assert done[:4] == [("often", 10), ("often", 20), ("seldom", 25), ("often", 30)]
    assert sorted(done[4:]) == [("often", 1000), ("seldom", 1000)]


def test_a_failing_task_stops_no_other_and_runs_again(background_tasks, caplog):
    done = []
    background_tasks.add("failing", 10, lambda _: 1 // 0, 0)
    background_tasks.add("other", 10, done.append, 0)

    background_tasks.run(10)
    background_tasks.run(20)

    assert done == [10, 20]
    assert [record.message for record in caplog.records] == ["failing failed; the next attempt comes in 10 ms"] * 2


def test_the_wait_ends_when_a_task_is_due(background_tasks):
    assert background_tasks.wait_ms(0) > 0
    background_tasks.add("seldom", 25, lambda _: None, 0)
    background_tasks.add("often", 10, lambda _: None, 0)

    assert [background_tasks.wait_ms(now_ms) for now_ms in (0, 7, 10, 99)] == [10, 3, 0, 0]


def test_a_transactional_id_expires_after_a_week_and_stays_expired(broker):
    """COR-16: the defaults of transactional.id.expiration.ms and of the interval in which that is looked for."""
    broker.coordinator.initialise("x", 1000, None, broker.now_ms())
    broker.jump(WEEK - 60)
    broker.run_due_tasks()
    assert broker.coordinator.describe("x") is not None
    broker.jump(3600)
    broker.run_due_tasks()

    assert broker.coordinator.describe("x") is None
    broker.restart()
    assert broker.coordinator.describe("x") is None


def test_a_transaction_older_than_any_timeout_allows_is_reported_as_hanging(broker, caplog):
    """BRK-10: transaction.max.timeout.ms and five minutes after its last batch, no sooner."""
    began = broker.now_ms()
    batch = encode_batch(None, [b"open"], began, producer=ProducerIdAndEpoch(7, 0), base_sequence=0, transactional=True)
    broker.topics.logs()[TopicPartition("t", 0)].append(batch, began)
    hangs = "the transaction of producer 7 hangs"

    broker.jump(15 * 60 + 290)
    broker.run_due_tasks()
    assert hangs not in caplog.text
    broker.jump(10 * 60)  # that is how often it is looked for
    broker.run_due_tasks()

    assert hangs in caplog.text


def test_a_transaction_that_its_coordinator_will_end_is_not_reported_as_hanging(broker, caplog):
    """BRK-10: the times of records tell nothing of its age, as of flights of years ago that are written today."""
    years_ago, partition = 1_357_000_000_000, TopicPartition("t", 0)
    holder = broker.coordinator.initialise("x", 900_000, None, broker.now_ms())
    broker.jump(9 * 60)
    broker.coordinator.add_partitions("x", holder, [partition], broker.now_ms())
    batch = encode_batch(None, [b"old"], years_ago, producer=holder, base_sequence=0, transactional=True)
    broker.topics.logs()[partition].append(batch, broker.now_ms())

    broker.jump(2 * 60)
    broker.run_due_tasks()

    assert broker.topics.logs()[partition].first_offset_of(holder.producer_id) == 0
    assert "hangs" not in caplog.text
