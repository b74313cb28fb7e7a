"""Find zombies that report a commit although they were fenced."""

from __future__ import annotations

from collections.abc import Sequence

from eosfw.observe import StepEvent, TaskStep
from pytest_eos.runs.run import Topic
from pytest_eos.runs.run_harness import RunHarness


def false_commits(eos: RunHarness, frozen: Sequence[StepEvent]) -> list[str]:
    """A message for each zombie that reported a commit after its successor had started, though no record is visible.

    The data may be right. But a connector that swallows ProducerFencedError never ends, and its counts are wrong.
    """
    events = eos.history.events()
    commits = [commit for event in frozen if (commit := _reported_commit(event, events)) is not None]
    return [_message(commit) for commit in commits if not _is_visible(eos, commit)]


def _reported_commit(frozen: StepEvent, events: Sequence[StepEvent]) -> StepEvent | None:
    """The first commit that a frozen task reported after a successor had started."""
    if frozen.transactional_id is None or frozen not in events:
        return None
    successor = False
    for event in events[events.index(frozen) + 1 :]:
        successor = successor or (event.step is TaskStep.START_TASK and _is_successor(event, frozen))
        # A frozen task reports nothing, so this event came after it woke.
        if successor and event.step is TaskStep.COMMITTED and _is_same_task(event, frozen):
            return event
    return None


def _is_visible(eos: RunHarness, commit: StepEvent) -> bool:
    written = eos.authors.places_of(commit)
    if not written:  # sent as columns, which nobody signed: nothing to tell by
        return True
    seen = Topic(eos, tuple(sorted({topic for topic, _, _ in written}))).committed_places()
    return any(f"{topic}-{partition}@{offset}" in seen for topic, partition, offset in written)


def _message(commit: StepEvent) -> str:
    return (
        f"task {commit.task} of generation {commit.generation} says that it committed transaction "
        f"{commit.transaction}, though a successor had started, and nobody sees its records: it was fenced, and "
        f"something swallowed the error. Let ProducerFencedError pass: the worker ends the task"
    )


def _is_same_task(event: StepEvent, frozen: StepEvent) -> bool:
    return (event.task, event.generation, event.transactional_id) == (
        frozen.task,
        frozen.generation,
        frozen.transactional_id,
    )


def _is_successor(event: StepEvent, frozen: StepEvent) -> bool:
    """Whether an event is of a newer generation of the same connector in the same group."""
    if event.transactional_id is None or frozen.transactional_id is None:
        return False
    same = event.transactional_id.rpartition("-")[0] == frozen.transactional_id.rpartition("-")[0]
    return same and (event.generation or 0) > (frozen.generation or 0)
