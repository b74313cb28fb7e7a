"""Tell histories by hand, event by event."""

from __future__ import annotations

from collections.abc import Iterator

from eosfw.ids import ConnectorTaskId, task_transactional_id
from eosfw.state.steps import STARTUP, StepEvent, TaskStep

CONNECTOR = "flights"


def event(step: TaskStep, at: float, *, task: int | None = 0, generation: int | None = 0, **more: object) -> StepEvent:
    """An event of the connector; further facts become fields or details."""
    who = None if task is None else ConnectorTaskId(CONNECTOR, task)
    transaction = more.pop("transaction", None)
    return StepEvent(
        step=step,
        at=at,
        wall=1.7e9 + at,
        connector=CONNECTOR,
        task=who,
        generation=generation,
        transactional_id=None if who is None else task_transactional_id("demo", who),
        transaction=transaction if isinstance(transaction, int) else None,
        detail=more,
    )


def startup(at: float, **who: int) -> Iterator[StepEvent]:
    """The startup protocol, 10 ms a step."""
    for n, step in enumerate(STARTUP):
        yield event(step, at + n * 0.01, **who)


def transaction(
    begin: float, end: float, *, number: int = 1, records: int = 500, outcome: TaskStep = TaskStep.COMMITTED, **who: int
) -> Iterator[StepEvent]:
    """One transaction, from its poll to how it ended."""
    last = TaskStep.ABORT if outcome is TaskStep.ABORTED else TaskStep.COMMIT
    yield event(TaskStep.POLL, begin, **who)
    yield event(TaskStep.BEGIN, begin, transaction=number, **who)
    yield event(TaskStep.SEND, begin, transaction=number, records=records, **who)
    yield event(TaskStep.SEND_OFFSETS, (begin + end) / 2, transaction=number, **who)
    yield event(last, (begin + end) / 2, transaction=number, records=records, **who)
    yield event(outcome, end, transaction=number, records=records, **who)


def new_generation(at: float, generation: int, count: int, fenced: int) -> Iterator[StepEvent]:
    """What the leader does for a generation of `count` tasks after one of `fenced`."""
    ids = [task_transactional_id("demo", ConnectorTaskId(CONNECTOR, n)) for n in range(fenced)]
    leader = {"task": None, "generation": generation}
    yield event(TaskStep.WRITE_TASK_CONFIGS, at, count=count, task=None, generation=None)
    yield event(TaskStep.FENCE_ZOMBIES, at + 0.02, ids=ids, **leader)
    yield event(TaskStep.CHECK_GENERATION, at + 0.12, **leader)
    yield event(TaskStep.WRITE_TASK_COUNT, at + 0.13, count=count, **leader)
