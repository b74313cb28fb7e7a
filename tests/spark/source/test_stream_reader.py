"""What a stream reader plans and reads, driven as Spark drives it, without Spark."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.datasource_internal import _SimpleStreamReaderWrapper

from eosfw.concurrency import ThreadRuntime
from eosfw.errors import ClusterUnavailableError, ConfigError, DamagedDataError, UnknownTopicOrPartitionError
from eosfw.observe import TaskStep
from eosfw_memory.cluster import EmbeddedCluster
from eosfw_spark.source import stream_reader
from ports import free_port

from ..histories import Histories
from .stream_run import StreamRun, StreamRunBefore42, options, rows_of


@pytest.mark.parametrize("backend", ["confluent", "kafka-python", "memory"])
def test_committed_records_come_once_over_restarts(history: Histories, backend: str) -> None:
    """SPK-10: aborted ones never, open ones once they are committed, replayed batches with the same rows."""
    topic = history.topic(2)
    history.commit(topic, [b"a", b"b"])
    history.abort(topic, [b"lost"])
    history.commit(topic, [b"other"], partition=1)
    open_ = history.leave_open(topic, [b"open"])
    log: list[str] = []
    given = options(history, topic, backend=backend)

    first = StreamRun(given, log)
    assert first.finish() == [[b"a", b"b", b"other"]]
    assert StreamRun(given, log).finish() == []
    open_.commit_transaction(30)
    history.abort(topic, [b"lost"])

    assert StreamRun(given, log).finish() == [[b"open"]]
    replayed = StreamRun(given, log)
    assert [replayed.values(batch) for batch in range(len(log))] == [[b"a", b"b", b"other"], [b"open"]]
    replayed.reader.stop()


def test_the_first_batch_begins_where_it_began_when_run_again(history: Histories) -> None:
    """A driver that dies in batch 0: by then other records are the latest."""
    topic = history.topic()
    history.commit(topic, [b"before"])
    given, log = options(history, topic, startingOffsets="latest"), list[str]()
    died = StreamRun(given, log)
    assert died.plan()
    begun = died.rows(0)
    history.commit(topic, [b"after"])

    again = StreamRun(given, log)

    assert again.rows(0) == begun == []
    assert again.finish() == [[b"after"]]
    died.reader.stop()


def test_offsets_have_the_form_of_sparks_kafka_source(history: Histories) -> None:
    topic = history.topic(2)
    history.commit(topic, [b"a"])
    log: list[str] = []
    run = StreamRun(options(history, topic), log)
    run.plan()
    history.commit(topic, [b"b"], partition=1)
    run.finish()

    first, second = map(json.loads, log)
    ids = {topic: first["topic ids"][topic]}
    assert first == {topic: {"0": 2, "1": 0}, "topic ids": ids, "initial offset": {topic: {"0": 0, "1": 0}}}
    assert second == {topic: {"0": 2, "1": 2}, "topic ids": ids}


def test_a_limit_bounds_batches_of_records_and_of_markers(history: Histories) -> None:
    topic = history.topic()
    for number in range(4):
        history.abort(topic, [b"lost"])
        history.commit(topic, [b"%d" % number])
    log: list[str] = []

    found = StreamRun(options(history, topic, maxOffsetsPerTrigger=3), log, available_now=True).finish()

    assert found == [[b"0"], [b"1"], [b"2"], [b"3"]]
    assert [json.loads(each)[topic]["0"] for each in log] == [3, 6, 9, 12, 15, 16]


def test_bytes_bound_a_batch(history: Histories) -> None:
    topic = history.topic()
    history.commit(topic, [b"x" * 10] * 4)
    history.commit(topic, [b"y" * 100, b"z"])

    found = StreamRun(options(history, topic, maxBytesPerTrigger=25), [], available_now=True).finish()

    assert [sum(map(len, batch)) for batch in found] == [20, 20, 100, 1]  # type: ignore[arg-type]


def test_a_batch_waits_for_enough_offsets_except_for_available_now(history: Histories) -> None:
    topic = history.topic()
    history.commit(topic, [b"first"])
    given, log = options(history, topic, minOffsetsPerTrigger=4), list[str]()
    run = StreamRun(given, log)
    assert run.plan()  # the first batch does not wait, as in Spark
    history.commit(topic, [b"a"])
    assert not run.plan()
    history.commit(topic, [b"b"])
    assert run.plan()
    assert run.values(1) == [b"a", b"b"]
    run.reader.stop()
    history.commit(topic, [b"c"])

    assert StreamRun(given, log, available_now=True).finish() == [[b"c"]]


def test_available_now_ends_at_what_was_there_at_its_start(history: Histories) -> None:
    topic = history.topic()
    history.commit(topic, [b"a", b"b", b"c"])
    log: list[str] = []
    run = StreamRun(options(history, topic, maxOffsetsPerTrigger=2), log, available_now=True)
    assert run.plan()
    history.commit(topic, [b"later"])

    assert run.finish() == [[b"c"]]
    assert StreamRun(options(history, topic), log, available_now=True).finish() == [[b"later"]]


@pytest.mark.parametrize("backend", ["confluent", "kafka-python", "memory"])
def test_a_time_says_where_a_stream_begins(history: Histories, backend: str) -> None:
    """Once: a restart goes on, by whatever time."""
    topic, log = history.topic(), list[str]()
    for time in (1000, 2000, 3000):
        history.commit(topic, [b"%d" % time], timestamp=time)
    given = options(history, topic, backend=backend, startingTimestamp=1500)

    assert StreamRun(given, log).finish() == [[b"2000", b"3000"]]
    history.commit(topic, [b"4000"], timestamp=4000)
    assert StreamRun({**given, "startingTimestamp": "0"}, log).finish() == [[b"4000"]]
    late = {"startingOffsetsByTimestamp": json.dumps({topic: {"0": 9_999_999_999_999}})}
    run = StreamRun(options(history, topic, backend=backend, **late), [])
    with pytest.raises(ConfigError, match=f"{topic}-0: has no record of the time 9999999999999 or later"):
        run.plan()
    run.reader.stop()


@pytest.mark.parametrize(
    ("backend", "prefetched"), [("confluent", 0), ("confluent", 1000), ("kafka-python", 1000), ("memory", 1000)]
)
def test_a_partition_added_to_a_running_query_is_read(history: Histories, backend: str, prefetched: int) -> None:
    """From its first record, though the query began at the latest; with clients that read the topic as it was."""
    topic = history.topic()
    history.commit(topic, [b"before"])
    given = {"backend": backend, "startingOffsets": "latest", "prefetchOffsets": prefetched}
    run = StreamRun(options(history, topic, **given), [])
    assert run.plan()
    assert run.values(0) == []
    history.add_partitions(topic, 2)
    history.commit(topic, [b"new"], partition=1)

    assert run.finish() == [[b"new"]]


def test_older_spark_is_served_within_the_limits_after_restarts(history: Histories) -> None:
    topic = history.topic()
    history.commit(topic, [b"a", b"b", b"c"])
    given, log = options(history, topic, maxOffsetsPerTrigger=2), list[str]()

    found = []
    for _ in range(2):
        run = StreamRunBefore42(given, log)
        assert run.plan()
        found.append(run.values(len(log) - 1))
        run.reader.stop()

    assert found == [[b"a", b"b"], [b"c"]]
    assert StreamRunBefore42(given, log).finish() == []


# --- small batches


@pytest.mark.parametrize("backend", ["confluent", "kafka-python", "memory"])
def test_a_small_batch_has_the_rows_that_tasks_would_read(history: Histories, backend: str) -> None:
    """SPK-10: read beside the driver, or by a task that finds Spark's block of them lost, in one partition."""
    topic = history.topic(3)
    history.commit(topic, [b"a", None])
    history.abort(topic, [b"lost"], partition=1)
    history.commit(topic, [b"b"], partition=2)
    log: list[str] = []
    run = StreamRun(options(history, topic, backend=backend), log)
    assert run.plan()

    prefetched, partitions = run.planned(0)
    tasks = StreamRun(options(history, topic, backend=backend, prefetchOffsets=0), log)
    unprefetched, several = tasks.planned(0)

    assert (len(partitions), len(several), unprefetched) == (1, 3, None)
    assert prefetched is not None
    read_by_tasks = [arrow for each in several for arrow in tasks.reader.read(each)]
    assert rows_of(prefetched) == rows_of(run.reader.read(partitions[0])) == rows_of(read_by_tasks)
    assert [row[-1] for row in rows_of(prefetched)] == [b"a", None, b"b"]
    run.reader.stop()
    tasks.reader.stop()


@pytest.mark.parametrize("given", [{"minPartitions": 1}, {"maxRecordsPerPartition": 5}, {"prefetchOffsets": 2}])
def test_a_batch_is_left_to_tasks_if_it_is_divided_or_larger(history: Histories, given: dict[str, int]) -> None:
    topic = history.topic()
    history.commit(topic, [b"a", b"b"])  # and a marker
    run = StreamRun(options(history, topic, **given), [])
    assert run.plan()

    assert run.planned(0)[0] is None
    run.reader.stop()


def test_a_small_batch_of_large_records_is_left_to_tasks_each_time(history: Histories) -> None:
    """Four offsets could be gigabytes; a batch that runs again is divided as before."""
    topic = history.topic()
    for _ in range(5):
        history.commit(topic, [b"x" * 900_000])
    log: list[str] = []
    given = options(history, topic, maxOffsetsPerTrigger=10)
    run = StreamRun(given, log)
    assert run.plan()

    first, again = run.planned(0), StreamRun(given, log).planned(0)

    assert first[0] is again[0] is None
    assert len(rows_of(run.reader.read(first[1][0]))) == 5
    run.reader.stop()


def test_what_is_held_back_is_reported_beside_a_prefetched_batch(history: Histories) -> None:
    """Spark asks readers of that class for nothing, so the reader is of it only while its rows are taken."""
    topic = history.topic()
    history.commit(topic, [b"a"])
    run = StreamRun(options(history, topic), [])
    assert run.plan()

    assert run.planned(0)[0] is not None

    assert not isinstance(run.reader, _SimpleStreamReaderWrapper)
    reported = run.reader.reportLatestOffset()
    assert reported is not None
    assert topic in reported
    run.reader.stop()


# --- steps


@pytest.mark.parametrize("prefetched", [0, 1000])
def test_plan_and_read_are_announced(history: Histories, monkeypatch: pytest.MonkeyPatch, prefetched: int) -> None:
    """Beside the driver nobody knows yet which batch of which query it is."""
    announced: list[tuple[TaskStep, str, object]] = []

    def announce(step: TaskStep, *, query: str, batch: int | None, **_: object) -> None:
        announced.append((step, query, batch))

    monkeypatch.setattr(stream_reader, "announce", announce)
    monkeypatch.setattr(stream_reader.MicroBatch, "of_task", lambda: stream_reader.MicroBatch("id", 0))
    topic = history.topic()
    history.commit(topic, [b"a"])

    StreamRun(options(history, topic, prefetchOffsets=prefetched), []).finish()

    read = (topic, None) if prefetched else ("id", 0)
    assert announced == [(TaskStep.PLAN_BATCH, topic, None), (TaskStep.READ_BATCH, *read)]


# --- what goes wrong


def test_a_topic_that_never_was_is_named(history: Histories) -> None:
    run = StreamRun(options(history, "nowhere"), [])

    with pytest.raises(UnknownTopicOrPartitionError, match="no topic or partition nowhere on"):
        run.plan()
    run.reader.stop()


@pytest.mark.parametrize(
    ("what", "said"),
    [({"assign": '{"T": [0]}'}, "T-1, but the query reads T-0"), ({"subscribePattern": "^no-"}, "topic T, .*\\^no-")],
)
def test_what_is_taken_away_from_a_query_is_named(history: Histories, what: dict[str, str], said: str) -> None:
    """It exists, so it is no loss."""
    topic = history.topic(2)
    given = options(history, topic) | {name: text.replace("T", topic) for name, text in what.items()}
    del given["subscribe"]
    run = StreamRun(given, [json.dumps({topic: {"0": 0, "1": 0}})])

    with pytest.raises(ConfigError, match=f"the checkpoint has offsets of {said.replace('T', topic)}"):
        run.plan()
    run.reader.stop()


@pytest.mark.parametrize(
    "text", ['{"other":{"0":3}}', '{"logOffset":0}', "7", '{"topic":{"0":-1}}', '{"topic":{"x":1}}']
)
def test_a_checkpoint_of_another_query_is_refused(history: Histories, text: str) -> None:
    run = StreamRun(options(history, history.topic()), [text])

    with pytest.raises(ConfigError, match=r"another query wrote it.*checkpointLocation of its own"):
        run.plan()
    run.reader.stop()


def test_a_query_that_begins_behind_the_end_of_a_topic_fails_or_goes_on_there(history: Histories) -> None:
    topic = history.topic()
    history.commit(topic, [b"a"])
    given = options(history, topic, startingOffsets=json.dumps({topic: {"0": 12}}))

    run = StreamRun(given, [])
    with pytest.raises(DamagedDataError, match=f"{topic}-0 lost its offsets 2 to 11: its log ends before them"):
        run.plan()
    run.reader.stop()
    log: list[str] = []
    assert StreamRun({**given, "failOnDataLoss": "false"}, log).finish() == []
    history.commit(topic, [b"b"])
    assert StreamRun(given, log).finish() == [[b"b"]]


def test_a_batch_that_ends_before_it_begins_is_refused(history: Histories) -> None:
    topic = history.topic()
    run = StreamRun(options(history, topic), [json.dumps({topic: {"0": 12}}), json.dumps({topic: {"0": 3}})])

    with pytest.raises(DamagedDataError, match=f"a batch of {topic}-0 begins at offset 12 and ends at 3"):
        run.rows(1)


def test_a_query_goes_on_when_its_broker_comes_back(fresh: Callable[[str], str], tmp_path: Path) -> None:
    runtime, served = ThreadRuntime(), _serve(tmp_path, f"127.0.0.1:{free_port()}")
    address = served.bootstrap_servers
    history = Histories(address, fresh)
    topic = history.topic()
    history.commit(topic, [b"a"])
    run = StreamRun(options(history, topic), [])
    assert run.plan()
    history.close()
    served.close()
    back: list[EmbeddedCluster] = []

    def start() -> None:
        runtime.sleep(1.0)
        back.append(_serve(tmp_path, address))

    starting = runtime.spawn("broker", start)
    try:
        assert not run.plan()
        assert run.values(0) == [b"a"]
    finally:
        run.reader.stop()
        starting.join()
        back[0].close()


def _serve(folder: Path, listen: str) -> EmbeddedCluster:
    given: dict[str, Any] = {"listeners": f"PLAINTEXT://{listen}", "log.dirs": str(folder)}
    return EmbeddedCluster.start(given, ThreadRuntime())


def test_a_broker_that_stays_away_is_named_within_the_timeout() -> None:
    run = StreamRun(
        {"kafka.bootstrap.servers": "127.0.0.1:1", "subscribe": "t", "kafka.default.api.timeout.ms": "1500"}, []
    )

    with pytest.raises(ClusterUnavailableError, match=r"127\.0\.0\.1:1"):
        run.plan()
