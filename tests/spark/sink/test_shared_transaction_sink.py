"""Batches that are atomic and written by all tasks, through a real Spark session."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

import pytest
from pyspark import SparkContext

from eosfw.concurrency import ThreadRuntime
from eosfw.errors import ConfigError, DamagedDataError, ProducerFencedError
from eosfw.ids import TopicPartition
from eosfw.observe import TaskStep
from eosfw.records import OffsetRange, ProducerBatch
from eosfw_memory.client.producer.partitioner import partition_of
from eosfw_spark.clients import open_backend
from eosfw_spark.python_process import PROCESS
from eosfw_spark.sink.options import SinkOptions
from eosfw_spark.sink.shared.handle_server import HandleAddress, take_handle
from eosfw_spark.sink.shared.task_write import WriteRows
from eosfw_spark.sink.tokens.token import BatchContent, Token
from eosfw_spark.sink.tokens.token_log import TokenLog
from pyspark_eosfw.foreach_batch import SharedTransactionSink
from pytest_eos.contracts.backends.harness import COMMITTED, WAIT, Row

from ..conftest import Served
from .sink_harness import Killed, dying_at
from .sinks import Sink, refusal

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


ANNOUNCE = "eosfw_spark.sink.shared.shared_transaction_sink.announce"


@pytest.fixture
def sink(cluster: Served, spark: SparkSession, tmp_path: Path) -> Iterator[Sink]:
    """A topic of the embedded broker; each night also of a real Kafka."""
    sink = Sink(cluster.bootstrap_servers, spark, tmp_path)
    yield sink
    sink.lab.close()


def run(sink: Sink, frame: DataFrame | None = None, **more: str) -> None:
    """Run a query until it has published what is there."""
    writer = (sink.lines() if frame is None else frame).writeStream.foreachBatch(
        SharedTransactionSink(sink.options(**more))
    )
    query = writer.option("checkpointLocation", str(sink.checkpoint)).trigger(availableNow=True).start()
    query.awaitTermination()


@pytest.fixture
def query(sink: Sink, fresh: Callable[[str], str]) -> Iterator[str]:
    """The id of a query of which this process does the batches by hand: that starts no stream."""
    context, query = sink.spark.sparkContext, fresh("query")
    context.setLocalProperty("sql.streaming.queryId", query)
    yield query
    context.setLocalProperty("sql.streaming.queryId", None)  # type: ignore[arg-type]


def publish(sink: Sink, batch: int, *values: str) -> None:
    """What Spark calls for one batch."""
    rows = sink.spark.createDataFrame([(each, each) for each in values], "key string, value string")
    SharedTransactionSink(sink.options())(rows, batch)


def test_batches_of_a_query_are_published_once_in_either_mode(sink: Sink) -> None:
    """SPK-12, SPK-01: the commit log's last entry is lost, and mode `atomic` goes on: it finds the token."""
    for number in range(2):
        sink.add(*(f"{number}-{each}" for each in range(10)))
    keyed = sink.lines().selectExpr("value AS key", "value")
    run(sink, keyed)
    sink.forget_commit(1)
    sink.add(*(f"2-{each}" for each in range(10)))
    sink.run(keyed)

    assert sink.values() == [f"{number}-{each}" for number in range(3) for each in range(10)]
    assert all(row.partition == partition_of(row.key or b"", 2) for row in sink.lab.rows(sink.topic))


def test_an_older_copy_of_the_checkpoint_is_refused(sink: Sink) -> None:
    """SPK-06: it is one batch behind, and its next batch has rows beside those of the batch that was published."""
    copy = sink.folder / "copy"
    for number in range(2):
        if number == 1:
            shutil.copytree(sink.checkpoint, copy)
        sink.add(f"{number}-a")
        run(sink)
    shutil.rmtree(sink.checkpoint)
    copy.rename(sink.checkpoint)
    sink.add("2-a")

    refused = refusal(lambda: run(sink, sink.spark.readStream.text(str(sink.input))))

    assert "comes with batch 1 of 2 rows, but that batch was published with 1 rows" in refused
    assert "the checkpoint is an older copy; restore the newest checkpoint" in refused
    assert sink.values() == ["0-a", "1-a"]


def test_nothing_of_a_batch_is_visible_whose_task_fails(sink: Sink, query: str) -> None:
    """SPK-12: what other tasks have written is aborted at once, and keeps no reader waiting."""

    def fail(batches: Iterator[Any]) -> Iterator[Any]:
        yield from batches
        raise OSError("this task fails")

    rows = sink.spark.createDataFrame([("a", "a"), ("b", "b")], "key string, value string")
    with pytest.raises(Exception, match="this task fails"):
        SharedTransactionSink(sink.options())(rows.mapInArrow(fail, rows.schema), 0)

    assert sink.values() == []
    publish(sink, 0, "a", "b")
    assert sink.values() == ["a", "b"]


def test_batch_runs_again_after_an_attempt_that_may_have_written(
    sink: Sink, query: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SPK-13: it is lost with rows in the topic, and nobody knows whether it is at an end; no row of it is visible."""
    mark = sink.folder / "lost"

    class LostAttempt:
        def __init__(self, columns: Any, options: SinkOptions, address: HandleAddress, *more: Any) -> None:
            self.given = columns, options, address, *more

        def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
            if not mark.exists():
                mark.touch()
                options, address = self.given[1:3]
                handle = take_handle(address, 0, -1)
                with open_backend(options.backend, options.properties) as backend:
                    producer = backend.attach(handle)  # type: ignore[attr-defined]
                    producer.send_batch(ProducerBatch(options.topic or "", [b"lost"], partition=0))
                    producer.flush(WAIT)
            yield from WriteRows(*self.given)(batches)

    monkeypatch.setattr("eosfw_spark.sink.shared.shared_transaction_sink.WriteRows", LostAttempt)

    publish(sink, 0, "a", "b")

    assert sink.values() == ["a", "b"]
    assert mark.exists()


def test_batch_that_was_begun_in_parallel_since_the_last_one_is_refused(sink: Sink, query: str) -> None:
    """SPK-12: the query went over to mode `parallel`, and came back."""
    publish(sink, 0, "a")
    producer, tokens = sink.lab.producer(), TokenLog(sink.lab.backend)
    producer.begin_transaction()
    producer.send_batch(tokens.record(f"{query}-parts", Token(1, BatchContent("b", 1), writers=2)))
    producer.commit_transaction(WAIT)

    with pytest.raises(DamagedDataError, match=f"{query} was written in the other mode"):
        publish(sink, 1, "b")

    assert sink.values() == ["a"]


@pytest.mark.parametrize("step", [TaskStep.PUBLISH_BATCH, TaskStep.COMMIT_BATCH, TaskStep.COMMITTED_BATCH])
def test_batch_is_published_once_wherever_its_driver_dies(
    sink: Sink, query: str, monkeypatch: pytest.MonkeyPatch, step: TaskStep
) -> None:
    """SPK-12, SPK-01: nothing of the driver runs any more; the next one does the batch again."""
    with monkeypatch.context() as patched:
        patched.setattr(ANNOUNCE, lambda one, **_: dying_at(step)(one))
        with pytest.raises(Killed):
            publish(sink, 0, "a", "b")

    publish(sink, 0, "a", "b")
    publish(sink, 1, "c")

    assert sink.values() == ["a", "b", "c"]


@pytest.mark.parametrize("cores", [1, 2])
def test_rows_that_may_go_anywhere_go_to_every_partition(
    sink: Sink, query: str, monkeypatch: pytest.MonkeyPatch, cores: int
) -> None:
    """SPK-12: without a key and without a partition, also where one task has all of them; null says neither."""
    monkeypatch.setattr(SparkContext, "defaultParallelism", cores)
    for batch in range(2):
        rows = sink.spark.createDataFrame([(f"{batch}",)], "value string").coalesce(1)
        SharedTransactionSink(sink.options())(rows, batch)
    mixed = "key string, value string, partition int"
    rows = sink.spark.createDataFrame([(None, "2", None), (None, "3", 0), ("k", "4", 1)], mixed)
    SharedTransactionSink(sink.options())(rows, 2)

    places = {row.value: row.partition for row in sink.lab.rows(sink.topic)}
    assert places.keys() == {b"0", b"1", b"2", b"3", b"4"}
    assert {places[b"0"], places[b"1"]} == {0, 1}
    assert (places[b"3"], places[b"4"]) == (0, 1)


def test_of_two_drivers_one_publishes(sink: Sink, query: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """SPK-12, SPK-07: the second one comes when all rows of the first one are written."""

    def second_driver(step: TaskStep, **_: object) -> None:
        if step is TaskStep.COMMIT_BATCH:
            patched.undo()
            publish(sink, 0, "a", "b")

    with monkeypatch.context() as patched:
        patched.setattr(ANNOUNCE, second_driver)
        with pytest.raises(ProducerFencedError):
            publish(sink, 0, "a", "b")

    assert sink.values() == ["a", "b"]


@pytest.mark.parametrize("step", [TaskStep.PUBLISH_BATCH, TaskStep.COMMIT_BATCH], ids=["in its tasks", "at its end"])
def test_a_batch_that_outlives_its_transaction_names_the_option_to_raise(
    sink: Sink, query: str, monkeypatch: pytest.MonkeyPatch, step: TaskStep
) -> None:
    """SPK-14, TXN-10: whether its tasks or its driver hear of the abort; the next attempt publishes the batch."""
    minutes = count()

    class Clock(ThreadRuntime):
        def now(self) -> float:
            return 60.0 * next(minutes)

    def lose_the_transaction(at: TaskStep, *, transactional_id: str, **_: object) -> None:
        if at is step:  # the coordinator raises the epoch, as it does at a timeout
            sink.lab.admin.fence_producers([transactional_id]).all().result(WAIT)

    with monkeypatch.context() as patched:
        patched.setattr(ANNOUNCE, lose_the_transaction)
        patched.setattr(PROCESS, "runtime", Clock)
        with pytest.raises(
            ConfigError, match=r"batch 0 of query \S+ took longer than kafka.transaction.timeout.ms=60000"
        ):
            publish(sink, 0, "a", "b")

    publish(sink, 0, "a", "b")

    assert sink.values() == ["a", "b"]


def test_a_reader_that_looks_all_the_time_sees_whole_batches(sink: Sink) -> None:
    """SPK-12: in each partition; of several partitions Kafka shows none before it has decided all of them."""
    for number in range(3):
        sink.add(*(f"{number}-{each}" for each in range(40)))
    done, seen = Event(), list[list[Row]]()
    places = [TopicPartition(sink.topic, number) for number in range(2)]

    def look() -> None:
        while not done.is_set():
            ends = sink.lab.admin.end_offsets(places, COMMITTED)
            seen.append(sink.lab.read({one: OffsetRange(0, end) for one, end in ends.items()}))

    looking = Thread(target=look)
    looking.start()
    run(sink, sink.lines().selectExpr("value AS key", "value"))
    done.set()
    looking.join()

    rows = sink.lab.rows(sink.topic)
    for place in places:
        shares = Counter((row.value or b"")[:1] for row in rows if row.partition == place.partition)
        assert len(shares) == 3
        for each in seen:
            found = Counter((row.value or b"")[:1] for row in each if row.partition == place.partition)
            assert all(count == shares[batch] for batch, count in found.items())


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"topic": None}, "needs the option topic"),
        ({"backend": "confluent"}, "backend confluent cannot share a transaction"),
        ({"mode": "parallel", "writers": "2"}, "leave them out"),
    ],
)
def test_options_that_do_not_fit_are_refused_before_a_query_starts(options: dict[str, str | None], said: str) -> None:
    """SPK-14: each with what to do instead."""
    given = {"kafka.bootstrap.servers": "127.0.0.1:1", "topic": "t", **options}

    with pytest.raises(ConfigError, match=said):
        SharedTransactionSink({name: value for name, value in given.items() if value is not None})
