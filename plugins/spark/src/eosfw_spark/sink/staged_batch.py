"""What the tasks of a batch staged, as their commit messages tell it (Spark's `WriterCommitMessage`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.datasource import WriterCommitMessage

from eosfw.errors import StepFailedError
from eosfw.observe import TaskStep
from eosfw.records import ProducerBatch
from eosfw_spark.micro_batch import MicroBatch, announce
from eosfw_spark.sink.content_hash import combine, hash_rows
from eosfw_spark.sink.rows import producer_batches
from eosfw_spark.sink.staging import StagedRows, Staging
from eosfw_spark.sink.tokens.token import BatchContent


@dataclass(frozen=True, slots=True)
class StagedTask(WriterCommitMessage):
    """What one attempt of a task staged; the driver gets that of one attempt for each task."""

    batch: MicroBatch
    staged: StagedRows
    hash: int
    topics: frozenset[str]
    """Those of the column `topic`."""
    session_checkpoint: str = ""
    """The checkpoint of a query that got it from its session alone, as Spark tells its tasks; else empty."""


@dataclass(frozen=True, slots=True)
class StagedBatch:
    """A batch that all its tasks have staged."""

    batch: MicroBatch
    tasks: Sequence[StagedTask]

    @classmethod
    def of(cls, messages: Sequence[Any]) -> StagedBatch:
        """The batch of Spark's commit messages."""
        tasks = [message for message in messages if isinstance(message, StagedTask)]
        batches = sorted({task.batch for task in tasks})
        if len(tasks) != len(messages) or len(batches) != 1:
            raise StepFailedError(f"{len(tasks)} of {len(messages)} tasks staged rows, of {len(batches)} batches")
        return cls(batches[0], tasks)

    @property
    def content(self) -> BatchContent:
        """What all tasks publish together."""
        return combine((task.hash for task in self.tasks), sum(task.staged.rows for task in self.tasks))

    @property
    def session_checkpoint(self) -> str:
        """The checkpoint of a query that got it from its session alone; empty if that is not known."""
        return self.tasks[0].session_checkpoint

    @property
    def in_files(self) -> bool:
        """Whether a task staged its rows in a file."""
        return any(task.staged.path is not None for task in self.tasks)

    def topics(self, topic: str | None) -> frozenset[str]:
        """The topics that are written to; `topic` is that of the options."""
        named = frozenset[str]().union(*(task.topics for task in self.tasks))
        return named if topic is None else frozenset([topic])

    def rows(self, staging: Staging, topic: str | None, now: int) -> Iterator[ProducerBatch]:
        """The rows, task by task in the order of the partitions; `now` is for rows without a timestamp."""
        for task in self.tasks:
            for batch in staging.read(task.staged):
                yield from producer_batches(batch, topic, now)


def stage_task(
    batches: Iterable[pa.RecordBatch], batch: MicroBatch, partition: int, staging: Staging, session_checkpoint: str = ""
) -> StagedTask:
    """Stage the rows of one task, in its process."""
    announce(TaskStep.WRITE_BATCH, query=batch.query, batch=batch.batch, partition=partition)
    hashes: list[int] = []
    topics: set[str] = set()

    def noted() -> Iterator[pa.RecordBatch]:
        for each in batches:
            hashes.append(hash_rows(each))
            if "topic" in each.schema.names:
                topics.update(pc.unique(each.column("topic")).to_pylist())
            yield each

    staged = staging.stage(noted(), batch_folder(batch), partition)
    announce(TaskStep.STAGED_BATCH, query=batch.query, batch=batch.batch, partition=partition, records=staged.rows)
    return StagedTask(batch, staged, sum(hashes), frozenset(topics), session_checkpoint)


def batch_folder(batch: MicroBatch) -> str:
    """Where the files of a batch are in the staging location; found without the messages of its tasks."""
    return f"{batch.query}/{batch.batch}"


def remove_staged(staging: Staging, last: MicroBatch) -> None:
    """Delete what a query staged up to a batch that is published, also what failed attempts left behind."""
    for name in staging.folders(last.query):
        if name.isdecimal() and int(name) <= last.batch:
            staging.remove(f"{last.query}/{name}")
