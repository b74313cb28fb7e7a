"""Whether repeats and losses are found."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from eosfw.config.parts import PartChoice
from eosfw.errors import ConfigError, DamagedDataError
from eosfw.identity import identity_headers, identity_of
from eosfw.protocols import Verdict
from eosfw_spark.identity_counts import example
from eosfw_spark.steps.engine import SparkStepEngine

COMMITTED = PartChoice("isolation.reader", "read_committed")


@pytest.fixture
def engine(spark: SparkSession, history: Any, tmp_path: Path) -> Iterator[SparkStepEngine]:
    running = SparkStepEngine.start("confluent", {"bootstrap.servers": history.servers}, str(tmp_path), COMMITTED)
    yield running
    running.close()


def test_a_record_present_once_is_neither_duplicate_nor_missing(engine: SparkStepEngine, history: Any) -> None:
    topic = history.topic(2)
    history.commit(topic, [b"a", b"b"])
    history.abort(topic, [b"a", b"c"])
    history.commit(topic, [b"c"], partition=1)

    assert engine.verdict(history.bounds(topic), "value", [[b"a"], [b"b", b"c"]]) == Verdict(0, 0)


def test_a_planted_duplicate_and_a_planted_loss_are_found_where_they_lie(engine: SparkStepEngine, history: Any) -> None:
    topic = history.topic(2)
    history.commit(topic, [b"a", b"b"])
    history.commit(topic, [b"a", b"a"], partition=1)

    verdict = engine.verdict(history.bounds(topic), "value", [[b"a", b"b", b"lost"]])

    assert (verdict.duplicates, verdict.missing) == (2, 1)
    assert verdict.examples == (
        f"'a' 2 too many, seen at {topic}-0@0, {topic}-1@0, {topic}-1@1",
        "'lost' 1 missing",
    )


def test_an_identity_that_is_due_twice_may_appear_twice(engine: SparkStepEngine, history: Any) -> None:
    topic = history.topic()
    history.commit(topic, [b"a", b"a"])

    assert engine.verdict(history.bounds(topic), "value", [[b"a", b"a"]]) == Verdict(0, 0)


def test_headers_tell_equal_values_apart(engine: SparkStepEngine, history: Any) -> None:
    topic = history.topic()
    headers = [identity_headers("c", {"file": "f"}, {"position": at}) for at in (1, 2)]
    for each in (headers[0], headers[1], headers[1]):
        history.commit(topic, [b"same"], headers=list(each))

    expected = [[identity_of(None, each, "headers") for each in headers]]
    verdict = engine.verdict(history.bounds(topic), "headers", expected)

    assert (verdict.duplicates, verdict.missing) == (1, 0)


@pytest.mark.parametrize("identity", ["headers", "field:id"])
def test_foreign_records_are_named_neither_duplicate_nor_verified(
    engine: SparkStepEngine, history: Any, identity: str
) -> None:
    """The count without Spark says the same."""
    topic = history.topic()
    own = identity_headers("c", {"file": "f"}, {"position": 1})
    history.commit(topic, [b'{"id": 1}'], headers=list(own))
    history.commit(topic, [b"same", b"same"])

    with pytest.raises(DamagedDataError, match=f"2 foreign records without identity .{identity}., at {topic}-0@2, "):
        engine.verdict(history.bounds(topic), identity, [[identity_of(b'{"id": 1}', own, identity)]])


def test_a_field_of_the_value_can_be_the_identity(engine: SparkStepEngine, history: Any) -> None:
    topic = history.topic()
    values = [b'{"id": %d, "noise": %d}' % (number, number * 7) for number in (1, 2, 2)]
    history.commit(topic, values)

    verdict = engine.verdict(history.bounds(topic), "field:id", [[identity_of(v, (), "field:id") for v in values[:2]]])

    assert (verdict.duplicates, verdict.missing) == (1, 0)


def test_an_empty_topic_misses_every_record(engine: SparkStepEngine, history: Any) -> None:
    topic = history.topic()

    verdict = engine.verdict(history.bounds(topic), "value", [[b"%d" % n for n in range(100)]])

    assert (verdict.duplicates, verdict.missing) == (0, 100)
    assert len(verdict.examples) == 10


def test_an_unknown_identity_is_refused(engine: SparkStepEngine, history: Any) -> None:
    with pytest.raises(ConfigError, match="no identity is called 'key'"):
        engine.verdict({}, "key", [])


def test_an_example_is_one_short_line_whatever_the_bytes() -> None:
    message = example(b"\xff\n" + b"x" * 1000, -3, [])

    assert "\n" not in message
    assert len(message) < 200
    assert message.endswith("3 missing")
