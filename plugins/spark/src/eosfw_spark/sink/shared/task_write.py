"""What tasks do for a shared transaction: give each row its partition, then write the rows of some partitions."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final
from zlib import crc32

import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext

from eosfw.errors import DamagedDataError, StepFailedError
from eosfw.observe import TaskStep
from eosfw.protocols import AcknowledgedWrite, AttachedProducer, TransactionHandle
from eosfw_spark.clients import open_backend
from eosfw_spark.executor_packages import reduce_with_import
from eosfw_spark.micro_batch import MicroBatch, announce
from eosfw_spark.python_process import PROCESS
from eosfw_spark.sink.content_hash import hash_rows
from eosfw_spark.sink.options import SinkOptions
from eosfw_spark.sink.rows import SinkColumns, producer_batches, sent_batch
from eosfw_spark.sink.shared.handle_server import HandleAddress, take_handle
from eosfw_spark.sink.shared.key_partitions import key_partitions

DESTINATION, ROUTE = "destination", "route"
"""The columns that a row gets: its partition of the topic, and the number by which it is shuffled."""
REPORT: Final = "report binary"
_TYPES: Final = {
    "key": "binary",
    "value": "binary",
    "partition": "int",
    "headers": "array<struct<key:string,value:binary>>",
    "timestamp": "bigint",
}


@dataclass(frozen=True, slots=True)
class TaskReport:
    """What one task has written, or only hashed."""

    hash: int
    rows: int
    write: AcknowledgedWrite | None = None


class AssignRows:
    """Gives each row its partition: the one that it names, else that of its key, else one by its value.

    Nothing of it hangs on where the row stands. Spark may do this stage again for an executor that it lost, and give it
    the same rows in another order, while tasks of the next stage keep what they have: a row that went another way the
    second time would be there twice, or not at all.
    """

    __reduce__ = reduce_with_import

    def __init__(self, columns: SinkColumns, topic: str, partitions: int, routes: Sequence[int]) -> None:
        self._columns, self._topic, self._partitions, self._routes = columns, topic, partitions, routes

    @property
    def schema(self) -> str:
        """The columns of the result, as DDL."""
        own = [f"{name} {_TYPES[name]}" for name in self._columns]
        return ", ".join([*own, f"{DESTINATION} int", f"{ROUTE} int"])

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for each in batches:
            sent = sent_batch(each, self._columns)
            destinations = self._destinations(sent)
            writers = pc.subtract(
                destinations, pc.multiply(pc.divide(destinations, len(self._routes)), len(self._routes))
            )
            routes = pa.array(self._routes, pa.int32()).take(writers)
            names = [*sent.schema.names, DESTINATION, ROUTE]
            yield pa.RecordBatch.from_arrays([*sent.columns, destinations, routes], names=names)

    def _destinations(self, sent: pa.RecordBatch) -> pa.Array:
        found = pa.nulls(sent.num_rows, pa.int32())
        if "key" in sent.schema.names:
            found = key_partitions(sent.column("key"), self._partitions)
        if "partition" in sent.schema.names:
            found = pc.coalesce(sent.column("partition"), found)
            highest = pc.max(found).as_py()
            if highest is not None and highest >= self._partitions:
                raise DamagedDataError(
                    f"a row has the partition {highest}, and topic {self._topic} has {self._partitions} partitions"
                )
        return found if not found.null_count else pc.coalesce(found, self._by_value(sent.column("value")))

    def _by_value(self, values: pa.Array) -> pa.Array:
        return pa.array((crc32(each or b"") % self._partitions for each in values.to_pylist()), pa.int32())


class WriteRows:
    """Writes the rows of this task to the partitions of its handle, and reports once all are acknowledged."""

    __reduce__ = reduce_with_import

    def __init__(
        self,
        columns: SinkColumns,
        options: SinkOptions,
        address: HandleAddress,
        routes: Sequence[int] | None,
        turn: int,
        micro_batch: MicroBatch,
    ) -> None:
        """`routes` is None where rows were not shuffled, because they may go anywhere: to this writer's partitions by
        turns, from the one of this turn on.
        """
        self._columns, self._options, self._address, self._routes = columns, options, address, routes
        self._turn, self._micro_batch = turn, micro_batch

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context, options = _context(), self._options
        handle = take_handle(self._address, context.partitionId(), context.taskAttemptId())
        about = self._micro_batch
        tell = partial(announce, query=about.query, batch=about.batch, partition=handle.writer)
        tell(TaskStep.WRITE_BATCH)
        hashed = rows = 0
        with open_backend(options.backend, options.properties) as backend:
            producer: AttachedProducer = backend.attach(handle)  # type: ignore[attr-defined]
            for number, each in enumerate(batches):
                sent, destinations = self._placed(each, number, handle)
                hashed, rows = hashed + hash_rows(sent), rows + sent.num_rows
                self._send(producer, sent, destinations)
            write = producer.finish(options.transaction_timeout)
        tell(TaskStep.STAGED_BATCH, records=rows)
        yield _report(TaskReport(hashed, rows, write))

    def _placed(self, batch: pa.RecordBatch, number: int, handle: TransactionHandle) -> tuple[pa.RecordBatch, pa.Array]:
        """The rows as they are sent, and the partition of each."""
        if self._routes is None:
            own = sorted(handle.partitions)
            where = pa.scalar(own[(self._turn + number) % len(own)].partition, pa.int32())
            return sent_batch(batch, self._columns), pa.repeat(where, batch.num_rows)
        if batch.num_rows and pc.unique(batch.column(ROUTE)).to_pylist() != [self._routes[handle.writer]]:
            # Spark shuffled otherwise than was asked: two tasks would write to one partition.
            raise StepFailedError(f"writer {handle.writer} got rows of another one: nothing of this batch is published")
        # By name, since Spark may give the columns other types of the same kind.
        columns = {name: batch.schema.get_field_index(name) for name in self._columns}
        return sent_batch(batch, columns), batch.column(DESTINATION)

    def _send(self, producer: AttachedProducer, sent: pa.RecordBatch, destinations: pa.Array) -> None:
        # The column `partition` is where each row goes now, whether the row named it or not.
        names = [name for name in sent.schema.names if name != "partition"]
        placed = sent.select(names).append_column("partition", destinations.cast(pa.int32()))
        for records in producer_batches(placed, self._options.topic, round(PROCESS.runtime().wall() * 1000)):
            producer.send_batch(records)


class HashRows:
    """Only hashes the rows of a batch that may have been published."""

    __reduce__ = reduce_with_import

    def __init__(self, columns: SinkColumns) -> None:
        self._columns = columns

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        hashed = rows = 0
        for each in batches:
            hashed, rows = hashed + hash_rows(sent_batch(each, self._columns)), rows + each.num_rows
        yield _report(TaskReport(hashed, rows))


def _report(report: TaskReport) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([pickle.dumps(report)], pa.binary())], names=["report"])


def _context() -> TaskContext:
    context = TaskContext.get()
    if context is None:
        raise StepFailedError("rows are written in a task of Spark only")
    return context
