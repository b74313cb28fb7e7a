"""What a stream reader does about records and topics that are gone, driven as Spark drives it, without Spark."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping

import pytest

from eosfw.builtin.isolation import ReadCommitted
from eosfw.errors import ConfigError, DamagedDataError, UnknownTopicOrPartitionError
from eosfw.ids import TopicPartition
from eosfw.records import OffsetRange
from eosfw_spark.source import stream_reader
from eosfw_spark.source.offset_range_limit import Offsets
from eosfw_spark.source.source_offset import resumed_offsets_of, topic_ids_of

from ..histories import Histories
from .stream_run import StreamRun, StreamRunBefore42, options


def test_deleted_records_end_a_stream_or_are_reported_once(
    history: Histories, caplog: pytest.LogCaptureFixture
) -> None:
    """SPK-11: and the batch behind them has the same rows when it runs again."""
    topic, log = history.topic(), list[str]()
    history.commit(topic, [b"a"])
    assert StreamRun(options(history, topic), log).finish() == [[b"a"]]
    history.commit(topic, [b"b", b"c", b"d"])
    history.delete_before(topic, 4)

    strict = StreamRun(options(history, topic), log)
    with pytest.raises(DamagedDataError, match=f"{topic}-0 lost its offsets 2 to 3: retention or DeleteRecords"):
        strict.plan()
    strict.reader.stop()
    run = StreamRun(options(history, topic, failOnDataLoss="false"), log)
    assert run.finish() == [[b"d"]]
    history.commit(topic, [b"e"])
    assert StreamRun(options(history, topic), log).finish() == [[b"e"]]

    [warning] = [each for each in caplog.messages if "lost" in each]
    assert warning.startswith(f"{topic}-0 lost its offsets 2 to 3: retention or DeleteRecords")
    assert warning.endswith("failOnDataLoss is false: reading goes on at 4")
    replayed = StreamRun(options(history, topic), log)
    assert replayed.values(1) == [b"d"]
    replayed.reader.stop()


def test_a_loss_without_rows_behind_it_is_reported_once(history: Histories, caplog: pytest.LogCaptureFixture) -> None:
    topic, log = history.topic(), list[str]()
    history.commit(topic, [b"a"])
    StreamRun(options(history, topic), log).finish()
    history.commit(topic, [b"b"])
    history.delete_before(topic, 4)

    run = StreamRun(options(history, topic, failOnDataLoss="false", minOffsetsPerTrigger=9), log)
    assert [run.plan() for _ in range(3)] == [True, False, False]
    assert run.values(1) == []

    assert len([each for each in caplog.messages if "goes on at 4" in each]) == 1
    run.reader.stop()


def test_a_batch_is_bounded_by_bytes_though_records_are_deleted_meanwhile(
    history: Histories, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = history.topic()
    history.commit(topic, [b"a" * 10] * 5)
    run = StreamRun(options(history, topic, failOnDataLoss="false", maxBytesPerTrigger=20), [])
    run.reader.initialOffset()

    def delete(limit: int, _: object) -> Offsets:
        history.delete_before(topic, 2)
        return {TopicPartition(topic, 0): limit}

    monkeypatch.setattr(stream_reader, "shares", delete)

    assert run.plan()
    assert run.values(0) == [b"a" * 10] * 2
    run.reader.stop()


@pytest.mark.parametrize("backend", ["confluent", "kafka-python", "memory"])
def test_a_topic_created_again_is_known_by_its_id(history: Histories, backend: str) -> None:
    """SPK-11: it has as many records as were read; one backend wrote the checkpoint, another one goes on with it."""
    topic, log = history.topic(), list[str]()
    history.commit(topic, [b"a", b"b"])
    assert StreamRun(options(history, topic), log).finish() == [[b"a", b"b"]]
    history.create_again(topic, b"c", b"d")

    strict = StreamRun(options(history, topic, backend=backend), log)
    with pytest.raises(DamagedDataError, match=f"{topic}-0 lost its records from offset 3 on: .* created again"):
        strict.plan()
    strict.reader.stop()
    given = options(history, topic, backend=backend, failOnDataLoss="false")
    assert StreamRun(given, log).finish() == [[b"c", b"d"]]
    history.commit(topic, [b"e"])
    assert StreamRun(options(history, topic, backend=backend), log).finish() == [[b"e"]]


def test_a_batch_run_again_does_not_read_another_topic_of_its_name(history: Histories) -> None:
    """SPK-11: the driver died before the batch was done."""
    topic, log = history.topic(), list[str]()
    history.commit(topic, [b"a"])
    died = StreamRun(options(history, topic), log)
    assert died.plan()
    history.create_again(topic, b"b")

    with pytest.raises(DamagedDataError, match=f"{topic}-0 lost its records from offset 0 on: .* created again"):
        StreamRun(options(history, topic), log).rows(0)
    died.reader.stop()


@pytest.mark.parametrize("prefetched", [0, 1000])
def test_a_topic_created_again_after_the_plan_is_read_once(history: Histories, prefetched: int) -> None:
    """SPK-10: by the next batch, whose plan knows the new topic; where a loss is accepted."""
    topic, log = history.topic(), list[str]()
    history.commit(topic, [b"a", b"b"])
    run = StreamRun(options(history, topic, failOnDataLoss="false", prefetchOffsets=prefetched), log)
    assert run.plan()
    history.create_again(topic, b"c", b"d", b"e")

    assert run.values(0) == []
    assert run.finish() == [[b"c", b"d", b"e"]]


def test_an_offset_without_topic_ids_is_gone_on_from(history: Histories) -> None:
    """As older versions wrote it; from the next batch on there are ids."""
    topic = history.topic()
    log = [json.dumps({topic: {"0": 2}})]
    history.commit(topic, [b"a"])
    assert StreamRun(options(history, topic), log).finish() == []
    history.commit(topic, [b"b"])

    assert StreamRun(options(history, topic), log).finish() == [[b"b"]]
    assert list(json.loads(log[-1])["topic ids"]) == [topic]


def test_a_deleted_topic_is_left_out_until_it_is_created_again(
    history: Histories, caplog: pytest.LogCaptureFixture
) -> None:
    gone, left, log = history.topic(), history.topic(), list[str]()
    history.commit(gone, [b"a"])
    history.commit(left, [b"b"])
    run = StreamRun(options(history, f"{gone},{left}", failOnDataLoss="false"), log)
    assert run.plan()
    history.delete(gone)
    history.commit(left, [b"c"])

    assert run.plan()
    assert run.values(1) == [b"c"]
    assert not run.plan()
    history.create(gone)
    history.commit(gone, [b"d"])
    assert run.finish() == [[b"d"]]
    assert len([each for each in caplog.messages if "failOnDataLoss" in each]) == 1


@pytest.mark.parametrize("strict", ["true", "false"])
def test_a_topic_deleted_while_offsets_are_listed_is_as_if_it_was_deleted_before(
    history: Histories, monkeypatch: pytest.MonkeyPatch, strict: str
) -> None:
    """Between the answers which topics there are and where they end; for a pattern, and for names."""
    gone, left = history.topic(), history.topic()
    run = StreamRun(options(history, f"{gone},{left}", failOnDataLoss=strict), [])
    assert run.plan()
    history.commit(left, [b"a"])
    bounds = ReadCommitted.bounds

    def deleted(reader: ReadCommitted, topics: Collection[str]) -> Mapping[TopicPartition, OffsetRange]:
        monkeypatch.setattr(ReadCommitted, "bounds", bounds)
        history.delete(gone)
        raise UnknownTopicOrPartitionError(f"list offsets of {gone}-0")

    monkeypatch.setattr(ReadCommitted, "bounds", deleted)

    if strict == "true":
        with pytest.raises(DamagedDataError, match=f"{gone}-0 lost its records from offset 0 on: it does not exist"):
            run.plan()
    else:
        assert run.plan()
        assert run.values(1) == [b"a"]
    run.reader.stop()


@pytest.mark.parametrize(
    "text", ['{"topic ids": 7}', '{"topic ids": {"t": 7}}', '{"resumed offset": {"t": {"0": "x"}}}']
)
def test_what_a_checkpoint_keeps_besides_offsets_is_checked(text: str) -> None:
    with pytest.raises(ConfigError, match="another query wrote it"):
        (topic_ids_of(json.loads(text)), resumed_offsets_of(json.loads(text)))


def test_older_spark_goes_on_behind_a_loss(history: Histories) -> None:
    topic, log = history.topic(), list[str]()
    history.commit(topic, [b"a"])
    assert StreamRunBefore42(options(history, topic), log).finish() == [[b"a"]]
    history.create_again(topic, b"b")
    given = options(history, topic, failOnDataLoss="false")
    assert StreamRunBefore42(given, log).finish() == [[b"b"]]
    history.commit(topic, [b"c"])

    restarted = StreamRunBefore42(given, log)
    assert restarted.reader.partitions(json.loads(log[-1]), json.loads(log[-1])) == []
    assert restarted.finish() == [[b"c"]]


@pytest.mark.parametrize("strict", ["true", "false"])
def test_what_an_open_transaction_holds_back_behind_the_start_is_no_loss(history: Histories, strict: str) -> None:
    """SPK-10: a query that read uncommitted records, or begins at the end of all that is written, waits there."""
    topic, log = history.topic(), list[str]()
    history.commit(topic, [b"a"])
    open_ = history.leave_open(topic, [b"b"])
    uncommitted = options(history, topic, **{"kafka.isolation.level": "read_uncommitted"})
    assert StreamRun(uncommitted, log).finish() == [[b"a", b"b"]]
    given = options(history, topic, failOnDataLoss=strict)
    behind = options(history, topic, failOnDataLoss=strict, startingOffsets=json.dumps({topic: {"0": 3}}))
    log_behind: list[str] = []

    assert StreamRun(given, log).finish() == StreamRun(behind, log_behind).finish() == []
    open_.commit_transaction(30)
    history.commit(topic, [b"c"])
    assert StreamRun(given, log).finish() == StreamRun(behind, log_behind).finish() == [[b"c"]]


def missing_once(monkeypatch: pytest.MonkeyPatch, topic: str) -> None:
    """Have the next look find no partition of a topic, as a broker answers that has just started."""
    bounds = ReadCommitted.bounds

    def missing(reader: ReadCommitted, topics: Collection[str]) -> Mapping[TopicPartition, OffsetRange]:
        monkeypatch.setattr(ReadCommitted, "bounds", bounds)
        return {each: one for each, one in bounds(reader, topics).items() if each.topic != topic}

    monkeypatch.setattr(ReadCommitted, "bounds", missing)


@pytest.mark.parametrize("then", ["goes on", "restarts"])
def test_a_topic_missing_for_one_look_goes_on_where_it_was(
    history: Histories, monkeypatch: pytest.MonkeyPatch, then: str
) -> None:
    """SPK-10: where a loss is accepted, too: it is the topic of before, by its id."""
    topic, left, log = history.topic(), history.topic(), list[str]()
    given = options(history, f"{topic},{left}", failOnDataLoss="false")
    history.commit(topic, [b"a", b"b"])
    run = StreamRun(given, log)
    assert run.plan()
    assert run.values(0) == [b"a", b"b"]
    history.commit(left, [b"c"])
    missing_once(monkeypatch, topic)

    assert run.plan()
    assert run.values(1) == [b"c"]
    history.commit(topic, [b"d"])
    if then == "restarts":
        run.reader.stop()
        run = StreamRun(given, log)
    assert run.finish() == [[b"d"]]
    replayed = StreamRun(given, log)
    assert replayed.values(2) == [b"d"]
    assert not replayed.plan()
    replayed.reader.stop()


def test_a_topic_missing_when_availablenow_begins_goes_on_where_it_was(
    history: Histories, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SPK-10: the run leaves it to the next one."""
    topic, left, log = history.topic(), history.topic(), list[str]()
    given = options(history, f"{topic},{left}")
    history.commit(topic, [b"a"])
    assert StreamRun(given, log).finish() == [[b"a"]]
    history.commit(left, [b"b"])
    missing_once(monkeypatch, topic)

    assert StreamRun(given, log, available_now=True).finish() == [[b"b"]]
    history.commit(topic, [b"c"])
    assert StreamRun(given, log, available_now=True).finish() == [[b"c"]]
