"""The micro-batch that a process of Spark works at, and the announcement of its steps to observers."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple, Self

from eosfw.errors import StepFailedError
from eosfw.ids import ConnectorTaskId
from eosfw.observe import Announcer, StepEvent, TaskStep
from eosfw_spark.clients import plugins
from eosfw_spark.python_process import PROCESS


class MicroBatch(NamedTuple):
    """One batch of a streaming query; the query's id stays the same as long as its checkpoint does."""

    query: str
    batch: int

    @classmethod
    def of_task(cls) -> Self | None:
        """The batch that this Spark task works at; None outside a task of a streaming query."""
        from pyspark import TaskContext

        context = TaskContext.get()
        query = context.getLocalProperty("sql.streaming.queryId") if context is not None else None
        batch = context.getLocalProperty("streaming.sql.batchId") if context is not None else None
        return None if query is None or batch is None else cls(query, int(batch))

    @classmethod
    def in_task(cls) -> Self:
        """The batch that this Spark task works at."""
        batch = cls.of_task()
        if batch is None:
            raise StepFailedError("Spark did not tell this task which query and batch it belongs to")
        return batch


def announce(
    step: TaskStep,
    *,
    query: str,
    batch: int | None,
    partition: int | None = None,
    transactional_id: str | None = None,
    **detail: object,
) -> None:
    """Tell the observers in this process of a step of a micro-batch, with no lock held: an observer may block."""
    runtime = PROCESS.runtime()
    event = StepEvent(
        step,
        runtime.now(),
        runtime.wall(),
        query,
        None if partition is None else ConnectorTaskId(query, partition),
        transactional_id=transactional_id,
        transaction=batch,
        detail=detail,
    )
    _announcer()(event)


@cache
def _announcer() -> Announcer:
    return Announcer(plugins().observers())
