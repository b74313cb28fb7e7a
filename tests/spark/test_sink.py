"""`writeStream.format("eosfw")` and `write.format("eosfw")` through a real Spark session (SPK-01..04)."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest

from .sinks import Sink, refusal

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PAGE = Path(__file__).parents[2] / "docs/how-to/write-exactly-once-from-spark.md"
ROWS = 40_000
"""More than a commit message carries, so that tasks stage them in files."""


@pytest.fixture
def sink(embedded: str, spark: SparkSession, tmp_path: Path) -> Iterator[Sink]:
    sink = Sink(embedded, spark, tmp_path)
    yield sink
    sink.lab.close()


def test_repeated_batch_of_a_query_is_published_once(sink: Sink) -> None:
    """SPK-01, SPK-04: the commit log's last entry is lost, so the restarted query runs its last batch again."""
    for number in range(3):
        sink.add(f"{number}-a", f"{number}-b")
    sink.run()
    sink.forget_commit(2)
    sink.add("3-a", "3-b")

    sink.run()

    assert sink.values() == [f"{number}-{each}" for number in range(4) for each in "ab"]


def test_many_rows_are_staged_in_files_which_are_removed(sink: Sink) -> None:
    sink.add(*(f"{number:0100d}" for number in range(ROWS)))

    sink.run()

    assert sink.values() == [f"{number:0100d}" for number in range(ROWS)]
    assert list((sink.checkpoint / "eosfw-staging").rglob("*.arrow")) == []


def test_retried_tasks_publish_each_row_once(sink: Sink) -> None:
    """SPK-03: the tasks of the first attempt fail after they have staged their rows."""
    sink.add(*(f"{number:0100d}" for number in range(ROWS)))
    mark = sink.folder / "failed"

    def fail_once(batches: Iterator[Any]) -> Iterator[Any]:
        failed = mark.exists()  # asked before the other task can fail
        yield from batches
        if not failed:
            mark.touch()
            raise OSError("the first attempt fails")

    frame = sink.lines().repartition(2).mapInArrow(fail_once, "value string")
    refused = refusal(lambda: sink.run(frame))  # a local master does not retry tasks, so the query does
    sink.run(frame)

    assert "the first attempt fails" in refused
    assert sink.values() == [f"{number:0100d}" for number in range(ROWS)]


def test_older_copy_of_a_checkpoint_is_refused_with_the_query_id(sink: Sink) -> None:
    """Hostile input 41: its batch 1 would have other rows than the batch 1 that was published."""
    sink.add("0")
    sink.run()
    older = sink.folder / "older"
    shutil.copytree(sink.checkpoint, older)
    for number in (1, 2):
        sink.add(str(number))
        sink.run()
    shutil.rmtree(sink.checkpoint)
    shutil.copytree(older, sink.checkpoint)
    (sink.input / "1.txt").unlink()

    refused = refusal(sink.run)

    assert "comes with batch 1" in refused
    assert "checkpoint" in refused
    assert sink.values() == ["0", "1", "2"]


def test_batch_write_of_one_version_is_published_once(sink: Sink) -> None:
    """SPK-08."""
    frame = sink.spark.range(10).selectExpr("cast(id as string) as value")
    versioned = sink.options(txnAppId=sink.lab.name(), txnVersion="1")
    for _ in range(2):
        frame.write.format("eosfw").mode("append").options(**versioned).save()
    assert sink.values() == [str(number) for number in range(10)]

    frame.write.format("eosfw").mode("append").options(**sink.options()).save()
    assert len(sink.values()) == 20
    tokens = {key.decode(): value for _, _, key, value in sink.lab.rows("__eos_tokens") if key is not None}
    nameless = [name for name in tokens if re.fullmatch(r"write-[0-9a-f-]{36}", name)]
    assert nameless, "the batch has a token in its transaction"
    assert [name for name in nameless if tokens[name] is not None] == []


def test_a_query_starts_in_any_thread_by_the_line_of_the_page(sink: Sink) -> None:
    """Spark looks for a Python data source in the thread's active session, which only the main thread has."""
    (line,) = re.findall(r"`(spark\.createDataFrame\(.*?\))`", PAGE.read_text())
    sink.add("0")
    failures: list[Exception] = []

    def run() -> None:
        try:
            eval(line, {"spark": sink.spark})
            sink.run()
        except Exception as why:  # noqa: BLE001 - the test judges it
            failures.append(why)

    thread = Thread(target=run)
    thread.start()
    thread.join()

    assert failures == []
    assert sink.values() == ["0"]


def test_partition_whose_rows_break_off_is_not_published(sink: Sink) -> None:
    """S2: what computes the rows fails, or is cancelled, after Python was given some of them."""
    rows = sink.spark.range(0, 30_000, 1, 1)
    options = {**sink.options(mode="parallel", writers="1"), "txnAppId": sink.lab.name(), "txnVersion": "1"}
    whole = rows.selectExpr("cast(id as string) as value")
    broken = rows.selectExpr("if(id < 25000, cast(id as string), raise_error('no more rows')) as value")

    refused = refusal(broken.write.format("eosfw").mode("append").options(**options).save)
    published = sink.values()
    whole.write.format("eosfw").mode("append").options(**options).save()

    assert "no more rows" in refused
    assert published == []
    assert len(sink.values()) == 30_000


@pytest.mark.parametrize(
    ("mode", "said"),
    [("overwrite", "cannot overwrite a topic; write with mode append"), ("ignore", "Append"), ("error", "Append")],
)
def test_other_save_modes_are_refused(sink: Sink, mode: str, said: str) -> None:
    frame = sink.spark.range(1).selectExpr("cast(id as string) as value")

    assert said in refusal(frame.write.format("eosfw").mode(mode).options(**sink.options()).save)


def test_all_columns_of_the_kafka_sink_are_written(sink: Sink) -> None:
    frame = sink.spark.sql(
        f"SELECT 'k' AS key, 'v' AS value, '{sink.topic}' AS topic, 1 AS partition, "
        "array(struct('h' AS key, CAST('x' AS BINARY) AS value)) AS headers, "
        "timestamp'2026-01-02 03:04:05.678' AS timestamp"
    )
    options = sink.options()
    del options["topic"]

    frame.write.format("eosfw").mode("append").options(**options).save()

    read = sink.spark.read.format("eosfw").options(subscribe=sink.topic, includeHeaders="true")
    (row,) = read.option("kafka.bootstrap.servers", sink.servers).load().collect()
    assert (row.key, row.value, row.partition) == (b"k", b"v", 1)
    assert [(header.key, header.value) for header in row.headers] == [("h", b"x")]
    assert row.timestamp.isoformat() == "2026-01-02T03:04:05.678000"


def test_missing_sink_topic_is_told_in_one_sentence(sink: Sink) -> None:
    sink.add("0")
    sink.topic = sink.lab.name()

    assert f"there is no topic {sink.topic}; create it first" in refusal(sink.run)


def test_a_topic_of_the_clusters_own_is_refused(sink: Sink) -> None:
    """Bad input: brokers refuse it only once the transaction sends."""
    sink.add("0")
    sink.topic = "__consumer_offsets"

    assert "cannot write to __consumer_offsets: that is a topic of the cluster's own" in refusal(sink.run)
