"""What a task of a Spark job does: run one task of a connector."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from eosfw.runtime import run_hosted_task
from eosfw_spark.clients import plugins


def run_tasks(texts: Iterable[str]) -> Iterator[None]:
    """Run the task of this partition until it ends."""
    from pyspark import TaskContext

    context = TaskContext.get()
    if context is None:
        raise RuntimeError("this runs in tasks of Spark alone")
    for text in texts:
        # Counted by the driver for all of its tasks: a later attempt has a greater number.
        run_hosted_task(text, context.taskAttemptId(), plugins=plugins())
    yield from ()
