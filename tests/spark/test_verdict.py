"""Whether repeats and losses are found."""

from __future__ import annotations

from typing import Any

import pytest

from eosfw.errors import DamagedDataError
from eosfw.identity import identity_headers, identity_of
from eosfw.protocols import Verdict
from eosfw_spark.identity_counts import example
from eosfw_spark.steps.engine import SparkStepEngine


def test_a_record_present_once_is_neither_duplicate_nor_missing(engine: SparkStepEngine, history: Any) -> None:
    topic = history.topic(2)
    history.commit(topic, [b"a", b"b", b"twice", b"twice"])
    history.abort(topic, [b"a", b"c"])
    history.commit(topic, [b"c"], partition=1)

    expected = [[b"a"], [b"b", b"c", b"twice", b"twice"]]
    assert engine.verdict(history.bounds(topic), "value", expected) == Verdict(0, 0)


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


@pytest.mark.parametrize("identity", ["headers", "field:id"])
def test_headers_or_a_field_tell_equal_values_apart(engine: SparkStepEngine, history: Any, identity: str) -> None:
    topic = history.topic()
    records = [
        (b'{"id": %d, "noise": %d}' % (at, noise), identity_headers("c", {"file": "f"}, {"position": at}))
        for at, noise in ((1, 7), (2, 7), (2, 8))
    ]
    for value, headers in records:
        history.commit(topic, [value], headers=list(headers))

    expected = [[identity_of(*each, identity) for each in records[:2]]]
    verdict = engine.verdict(history.bounds(topic), identity, expected)

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


def test_an_example_is_one_short_line_whatever_the_bytes() -> None:
    message = example(b"\xff\n" + b"x" * 1000, -3, [])

    assert "\n" not in message
    assert len(message) < 200
    assert message.endswith("3 missing")
