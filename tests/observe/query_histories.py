"""Tell the history of a streaming query with a zombie driver and a zombie executor.

`python -m tests.observe.query_histories` draws docs/images/query.svg from it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from eosfw.concurrency import ThreadRuntime
from eosfw.ids import ConnectorTaskId
from eosfw.observe import Freeze, History
from eosfw.observe.timeline import svg
from eosfw.state.steps import StepEvent, TaskStep

QUERY = "queries:copy"
PICTURE = Path(__file__).parents[2] / "docs" / "images" / "query.svg"


def step(step: TaskStep, at: float, batch: int | None, *, driver: int = 0, **more: object) -> StepEvent:
    """A step of the query; `partition` makes it a task's."""
    partition = more.pop("partition", None)
    who = ConnectorTaskId(QUERY, partition) if isinstance(partition, int) else None
    return StepEvent(step, at, 1.7e9 + at, QUERY, who, driver, transaction=batch, detail=more)


def task(at: float, batch: int, partition: int, **more: int) -> Iterator[StepEvent]:
    """A task that reads, writes and stages its rows."""
    own = {"partition": partition, **more}
    yield step(TaskStep.READ_BATCH, at, batch, **own)
    yield step(TaskStep.WRITE_BATCH, at + 0.1, batch, **own)
    yield step(TaskStep.STAGED_BATCH, at + 0.7, batch, records=10, **own)


def published(at: float, batch: int, driver: int = 0) -> Iterator[StepEvent]:
    """What the committer does with a batch whose fencing is done."""
    yield step(TaskStep.READ_TOKEN, at, batch, driver=driver)
    yield step(TaskStep.PUBLISH_BATCH, at + 0.1, batch, driver=driver)
    yield step(TaskStep.COMMIT_BATCH, at + 0.5, batch, driver=driver)
    yield step(TaskStep.COMMITTED_BATCH, at + 0.8, batch, driver=driver, outcome="published", records=20)


def told() -> list[StepEvent]:
    """Batch 1 loses an executor, batch 2 its driver; a second driver publishes batches 2 to 4."""
    events = [
        *(each for n in (0, 1) for each in task(0.3, 0, n)),
        step(TaskStep.FENCE_BATCH, 1.1, 0),
        *published(1.3, 0),
        *task(2.4, 1, 0),
        step(TaskStep.READ_BATCH, 2.4, 1, partition=1),
        step(TaskStep.WRITE_BATCH, 2.5, 1, partition=1),
        *task(6.0, 1, 1, attempt=1),
        *published(6.9, 1),
        *(each for n in (0, 1) for each in task(8.0, 2, n)),
        *list(published(8.9, 2))[:-1],
        step(TaskStep.FENCE_BATCH, 11.8, 2, driver=1),
    ]
    for batch in (2, 3, 4):
        begin = 11.0 + 2 * (batch - 2)
        events += [each for n in (0, 1) for each in task(begin, batch, n, driver=1)]
        events += published(begin + 1.0, batch, 1)
    events.append(step(TaskStep.FENCED, 17.6, None, ended=True, error="fenced by a newer producer"))
    return sorted(events, key=lambda each: each.at)


def freezes() -> list[Freeze]:
    """The executor at partition 1 of batch 1, and the driver before its commit of batch 2."""
    return [
        Freeze(step(TaskStep.WRITE_BATCH, 2.5, 1, partition=1), 2.5, 7.4),
        Freeze(step(TaskStep.COMMIT_BATCH, 9.4, 2), 9.4, 17.4),
    ]


def history() -> History:
    """The events, observed."""
    made = History(ThreadRuntime())
    for each in told():
        made.observe(each)
    return made


def picture() -> str:
    """The picture of the documentation."""
    return svg(history(), freezes(), title="A streaming query, its zombie executor and its zombie driver")


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
