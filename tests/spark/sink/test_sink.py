"""`writeStream.format("eosfw")` and `write.format("eosfw")` through a real Spark session (SPK-01..04)."""

from __future__ import annotations

import os
import re
import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest

from .sinks import Sink, refusal

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PAGE = Path(__file__).parents[3] / "docs/how-to/write-exactly-once-from-spark.md"
ROWS = 40_000
"""More than a commit message carries, so that tasks stage them in files."""


@pytest.fixture
def sink(embedded: str, spark: SparkSession, tmp_path: Path) -> Iterator[Sink]:
    sink = Sink(embedded, spark, tmp_path)
    yield sink
    sink.lab.close()


def test_repeated_batch_of_a_query_is_published_once(sink: Sink) -> None:
    """SPK-01, SPK-04: the commit log's last entry is lost, so the restarted query runs its last batch again."""
    for number in range(2):
        sink.add(f"{number}-a", f"{number}-b")
    sink.run()
    sink.forget_commit(1)
    sink.add("2-a", "2-b")

    sink.run()

    assert sink.values() == [f"{number}-{each}" for number in range(3) for each in "ab"]


@pytest.mark.parametrize("by_session", [False, True], ids=["checkpoint of the query", "of the session"])
def test_an_older_copy_of_the_checkpoint_is_refused(sink: Sink, *, by_session: bool) -> None:
    """SPK-06: it is one batch behind, and its next batch has rows beside those of the batch that was published."""
    copy, run = sink.folder / "copy", sink.run_named if by_session else sink.run
    for number in range(3):
        if number == 2:
            shutil.copytree(sink.checkpoint, copy)
        sink.add(f"{number}-a")
        run()
    shutil.rmtree(sink.checkpoint)
    copy.rename(sink.checkpoint)
    sink.add("3-a")

    refused = refusal(lambda: run(sink.spark.readStream.text(str(sink.input))))

    assert "comes with batch 2 of 2 rows, but that batch was published with 1 rows" in refused
    assert "the checkpoint is an older copy; restore the newest checkpoint" in refused
    assert sink.values() == ["0-a", "1-a", "2-a"]


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
    assert list((sink.checkpoint / "eosfw-staging").rglob("*.arrow")) == []


def test_batch_write_of_one_version_is_published_once(sink: Sink) -> None:
    """SPK-08."""
    frame = sink.spark.range(10).selectExpr("cast(id as string) as value")
    versioned = sink.options(txnAppId=sink.lab.name(), txnVersion="1")
    for _ in range(2):
        frame.write.format("eosfw").mode("append").options(**versioned).save()
    assert sink.values() == [str(number) for number in range(10)]

    killed = sink.folder / "staged" / f"write-{uuid.uuid4()}"
    killed.mkdir(parents=True)
    rows = killed / "rows.arrow"
    rows.touch()
    os.utime(rows, (0, 0))
    frame.write.format("eosfw").mode("append").options(**sink.options(stagingLocation=str(killed.parent))).save()
    assert len(sink.values()) == 20
    assert not killed.exists()
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
    for _ in range(2):
        whole.write.format("eosfw").mode("append").options(**options).save()

    assert "no more rows" in refused
    assert published == []
    assert len(sink.values()) == 30_000


def test_what_cannot_be_written_is_refused_in_one_sentence(sink: Sink) -> None:
    """Bad input; brokers refuse a topic of their own only once the transaction sends."""
    frame = sink.spark.range(1).selectExpr("cast(id as string) as value")

    def refused(topic: str = sink.topic, mode: str = "append") -> str:
        return refusal(frame.write.format("eosfw").mode(mode).options(**{**sink.options(), "topic": topic}).save)

    assert "cannot overwrite a topic; write with mode append" in refused(mode="overwrite")
    assert "Append" in refused(mode="ignore")
    assert "there is no topic nowhere; create it first" in refused("nowhere")
    assert "cannot write to __consumer_offsets: that is a topic of the cluster's own" in refused("__consumer_offsets")
    assert sink.values() == []


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
