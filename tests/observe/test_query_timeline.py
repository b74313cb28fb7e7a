"""The timeline shows a streaming query: its drivers, task attempts, micro-batches and zombies."""

from __future__ import annotations

from eosfw.concurrency import ThreadRuntime
from eosfw.observe import Freeze, History, Outcome
from eosfw.observe.timeline import svg, text
from eosfw.observe.timeline.layout import layout
from eosfw.state.steps import TaskStep

from .query_histories import PICTURE, freezes, history, picture, step


def test_each_driver_has_lanes_for_its_committer_and_task_attempts() -> None:
    groups = layout(history().aggregation(), freezes()).groups

    assert [(group.name, [row.name for row in group.rows]) for group in groups] == [
        ("queries:copy · driver 1", ["committer", "partition 0", "partition 1", "partition 1, attempt 2"]),
        ("queries:copy · driver 2", ["committer", "partition 0", "partition 1"]),
    ]


def test_the_committer_lanes_tell_published_from_skipped_batches() -> None:
    told = history()
    told.observe(step(TaskStep.READ_TOKEN, 18.0, 5, driver=1))
    told.observe(step(TaskStep.COMMITTED_BATCH, 18.5, 5, driver=1, outcome="skipped", records=20))
    first, second = (group.rows[0] for group in layout(told.aggregation()).groups)

    ended = [
        sorted([(bar.number or 0, bar.outcome) for bar in row.bars], key=lambda each: each[0])
        for row in (first, second)
    ]
    assert ended == [
        [(0, Outcome.COMMITTED), (1, Outcome.COMMITTED), (2, Outcome.FENCED)],
        [*((number, Outcome.COMMITTED) for number in (2, 3, 4)), (5, Outcome.SKIPPED)],
    ]


def test_the_frozen_executor_is_lost_and_the_driver_fenced() -> None:
    drawn = picture()

    assert "frozen at 2.20 s before batch:write, batch 1 open" in drawn
    assert "lost: its task ran again" in drawn
    assert "woken at 17.10 s, fenced at 17.30 s" in drawn
    assert drawn.count("driver 2 fences driver 1") == 1
    assert "100 records in 5 committed transactions" in drawn


def test_a_batch_begun_again_after_fencing_shows_as_aborted() -> None:
    again = history()
    for each in (TaskStep.PUBLISH_BATCH, TaskStep.FENCE_BATCH, TaskStep.PUBLISH_BATCH, TaskStep.COMMITTED_BATCH):
        again.observe(step(each, 20.0 + len(again.events()), 6, driver=1))

    bars = [(done.number, done.outcome) for done in again.completed() if done.number == 6]

    assert bars == [(6, Outcome.ABORTED), (6, Outcome.COMMITTED)]


def test_the_text_names_drivers_partitions_and_attempts() -> None:
    drawn = text(history(), freezes(), encoding="ascii")

    for expected in ("d1 committer", "d1 p1 a2", "d2 p0", "= staged", "~ frozen", "X fenced"):
        assert expected in drawn


def test_a_woken_driver_that_skips_its_batch_and_fails_is_drawn_so() -> None:
    told = History(ThreadRuntime())
    frozen = step(TaskStep.COMMIT_BATCH, 9.4, 2)
    told.observe(step(TaskStep.PUBLISH_BATCH, 9.0, 2))
    told.observe(frozen)
    told.observe(step(TaskStep.COMMITTED_BATCH, 17.5, 2, outcome="skipped", records=20))
    freeze = [Freeze(frozen, 9.4, 17.4)]

    assert "woken at 8.40 s, then skipped its batch" in svg(told, freeze)

    told.observe(step(TaskStep.FAILED, 18.0, None, ended=True, error="the checkpoint has another owner"))
    drawn = svg(told, freeze)

    assert "woken at 8.40 s, then failed" in drawn
    assert ">failed</text>" in drawn
    assert "! failed" in text(told, freeze, encoding="ascii")


def test_the_picture_of_the_documentation_is_up_to_date() -> None:
    assert PICTURE.read_text(encoding="utf-8") == picture()


def test_a_replaced_driver_that_fences_again_was_fenced() -> None:
    """Its committer tries again after the fencing error, and reads in the token that its batch is published."""
    told = History(ThreadRuntime())
    for at, driver in ((0.0, 0), (1.0, 1), (2.0, 0)):
        told.observe(step(TaskStep.FENCE_BATCH, at, 2, driver=driver))
        told.observe(step(TaskStep.PUBLISH_BATCH, at + 0.1, 2, driver=driver))

    assert [(lane.generation, event.at) for lane, event in told.zombies().items()] == [(0, 2.0)]
    assert [done.outcome for done in told.completed()] == [Outcome.FENCED]
