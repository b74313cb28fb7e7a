"""What a simulated driver calls for one batch, in each mode of the sink, as PySpark does."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from pyspark import cloudpickle
from pyspark.sql.types import StructType

from eosfw.concurrency import Runtime
from eosfw.protocols import TransactionHandle
from eosfw_spark.data_source import EosfwDataSource
from eosfw_spark.sink.shared import handle_server, shared_transaction_sink
from eosfw_spark.sink.shared.handle_server import FirstComeHandles, HandleAddress
from eosfw_spark.sink.shared.query_checkpoint import UNKNOWN
from eosfw_spark.sink.shared.routes import routes
from eosfw_spark.sink.shared.shared_transaction_sink import SharedTransactionSink

from .tasks import Part, Rows

RunStage = Callable[[Sequence[Part]], list[Any]]
"""Runs the tasks of one stage on the driver's executors."""
Publish = Callable[["Batch", RunStage], None]
"""Publishes one batch."""
PARALLELISM = 2


class Batch:
    """A micro-batch: what `foreachBatch` gets as a DataFrame, and what the tasks of a `StreamingWrite` read."""

    def __init__(
        self, query: str, number: int, schema: StructType, partitions: Sequence[Sequence[pa.RecordBatch]]
    ) -> None:
        self.query, self.number, self.schema, self.partitions = query, number, schema, partitions


def format_sink(options: Mapping[str, str]) -> Publish:
    """`writeStream.format("eosfw")`: Spark makes a new writer for each step of each batch."""

    def publish(batch: Batch, run: RunStage) -> None:
        def writer() -> Any:
            return _copy(EosfwDataSource(dict(options)).streamWriter(batch.schema, False))

        # PySpark passes nothing but the rows: the method of the writer is the whole task.
        messages: list[Any] = [None] * len(batch.partitions)
        try:
            messages = run([Part(each, writer().write) for each in batch.partitions])
            writer().commit(messages, batch.number)
        except Exception:
            writer().abort(messages, batch.number)
            raise

    return publish


def shared_sink(options: Mapping[str, str]) -> Publish:
    """`writeStream.foreachBatch(SharedTransactionSink(...))`."""

    def publish(batch: Batch, run: RunStage) -> None:
        parts = [Part(each, _same) for each in batch.partitions]
        SharedTransactionSink(options)(_Frame(batch, run, parts), batch.number)  # type: ignore[arg-type]

    return publish


def _same(rows: Rows) -> Rows:
    return rows


def _copy(what: Any) -> Any:
    return cloudpickle.loads(cloudpickle.dumps(what))


class _Frame:
    """What the sink uses of a DataFrame, a SparkSession, a SparkContext and a SparkConf."""

    def __init__(self, batch: Batch, run: RunStage, parts: Sequence[Part]) -> None:
        self._batch, self._run, self._parts = batch, run, parts
        self.schema = batch.schema
        self.sparkSession = self.sparkContext = self
        self.defaultParallelism = PARALLELISM

    def getLocalProperty(self, _: str) -> str:  # noqa: N802 - Spark's name
        return self._batch.query

    def getConf(self) -> Mapping[str, str]:  # noqa: N802 - Spark's name
        return {}

    def coalesce(self, count: int) -> _Frame:
        """Fewer partitions, without a shuffle; only of what was not computed yet."""
        groups = [self._parts[each::count] for each in range(min(count, len(self._parts)))]
        merged = [Part([*chain.from_iterable(part.batches for part in group)], _same) for group in groups]
        return _Frame(self._batch, self._run, merged)

    def mapInArrow(self, function: Callable[[Rows], Rows], _: str) -> _Frame:  # noqa: N802 - Spark's name
        return _Frame(
            self._batch, self._run, [Part(part.batches, partial(_then, part.make, function)) for part in self._parts]
        )

    def repartition(self, count: int, column: str) -> _Frame:
        """A shuffle by a column, of whose numbers it is known where Spark sends them."""
        targets = {number: each for each, number in enumerate(routes(count))}
        written = self._run([Part(part.batches, partial(_as_list, part.make)) for part in self._parts])
        shuffled: list[list[pa.RecordBatch]] = [[] for _ in range(count)]
        for rows in chain.from_iterable(written):
            for number, target in targets.items():
                shuffled[target].append(rows.filter(pa.compute.equal(rows.column(column), number)))
        return _Frame(
            self._batch, self._run, [Part([each for each in rows if each.num_rows], _same) for rows in shuffled]
        )

    def collect(self) -> list[Any]:
        made = self._run([Part(part.batches, partial(_as_list, part.make)) for part in self._parts])
        return [SimpleNamespace(**row) for rows in chain.from_iterable(made) for row in rows.to_pylist()]


def _then(first: Callable[[Rows], Rows], second: Callable[[Rows], Rows], rows: Rows) -> Rows:
    return second(first(rows))


def _as_list(make: Callable[[Rows], Rows], rows: Rows) -> list[pa.RecordBatch]:
    return list(make(rows))


# --- handles without sockets


class _HandleServers:
    """The drivers that give handles, by the numbers of their ports."""

    def __init__(self) -> None:
        self._open: list[tuple[Runtime, FirstComeHandles]] = []

    def start(self, handles: Sequence[TransactionHandle], host: str, runtime: Runtime, bind: str | None = None) -> Any:
        given = FirstComeHandles(handles, "key", runtime)
        self._open.append((runtime, given))
        address = HandleAddress(host, len(self._open) - 1, "key")
        return SimpleNamespace(handles=given, address=address, close=given.close)

    def exchange(self, address: HandleAddress, line: bytes) -> bytes:
        """What a driver answers, on a greenlet of its process; OSError if it is gone or stands still."""
        runtime, handles = self._open[address.port]
        answers: list[bytes] = []
        done = runtime.event()

        def answer() -> None:
            answers.append(handles.answer(line))
            done.set()

        runtime.spawn("handles", answer)
        if not done.wait(_ANSWER):
            raise TimeoutError("the driver does not answer")
        return answers[0]


_ANSWER = 30.0


@contextmanager
def handles_without_sockets() -> Iterator[None]:
    """Within it tasks ask the simulated drivers for handles, and drivers no JVM for their checkpoints."""
    servers = _HandleServers()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shared_transaction_sink, "HandleServer", servers.start)
        patch.setattr(handle_server, "exchange", servers.exchange)
        patch.setattr(shared_transaction_sink, "planned_batch", lambda *_: UNKNOWN)
        yield
