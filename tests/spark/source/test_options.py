"""How options of `format("eosfw")` are read."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eosfw.errors import ConfigError
from eosfw.ids import TopicPartition
from eosfw_spark.source.offset_range_limit import (
    EarliestOffsetRangeLimit,
    GlobalTimestampRangeLimit,
    LatestOffsetRangeLimit,
    SpecificOffsetRangeLimit,
    SpecificTimestampRangeLimit,
    StrategyOnNoMatchStartingOffset,
)
from eosfw_spark.source.option_values import duration, offsets, offsets_json
from eosfw_spark.source.options import ReadLimits, includes_headers, parse, parse_stream
from eosfw_spark.source.topic_pattern import compile_pattern, matching_topics

ENOUGH = {"kafka.bootstrap.servers": "h:1", "subscribe": "a, b,a"}
SERVERS = {"kafka.bootstrap.servers": "h:1"}
LATEST = StrategyOnNoMatchStartingOffset.LATEST


def problems(parse_: Callable[[dict[str, str]], object], **more: str | None) -> list[str]:
    given = {**ENOUGH, **{name.replace("__", "."): value for name, value in more.items()}}
    with pytest.raises(ConfigError) as raised:
        parse_({name: value for name, value in given.items() if value is not None})
    return [str(each) for each in raised.value.problems]


def test_default_options_read_all_committed_records() -> None:
    options = parse(ENOUGH)

    assert options.topics == ("a", "b")
    assert (options.start, options.end) == (EarliestOffsetRangeLimit(), LatestOffsetRangeLimit())
    assert (options.assigned, options.pattern) == (None, None)
    assert (options.reader.name, options.reader.properties) == ("read_committed", {})
    assert (options.backend, options.fail_on_data_loss, options.max_records) == ("confluent", True, None)
    assert dict(options.properties) == {"bootstrap.servers": "h:1"}


def test_a_reader_is_chosen_by_its_name_with_properties_of_its_own() -> None:
    options = parse({**ENOUGH, "isolationReader": "masked", "isolationReader.fields": "email"})

    assert (options.reader.name, options.reader.properties) == ("masked", {"fields": "email"})
    assert parse({**ENOUGH, "kafka.isolation.level": "READ_UNCOMMITTED"}).reader.name == "read_uncommitted"


def test_names_are_read_in_any_case() -> None:
    options = parse({**ENOUGH, "INCLUDEHEADERS": "TRUE", "minpartitions": "3", "endingOffsets": "LATEST"})

    assert (options.headers, options.min_partitions, options.end) == (True, 3, LatestOffsetRangeLimit())


partitions = st.builds(TopicPartition, st.text("ab.-_0", min_size=1, max_size=5), st.integers(0, 9999))


@given(st.dictionaries(partitions, st.integers(-2, 2**63 - 1), min_size=1, max_size=6))
def test_offsets_are_read_as_they_are_written(given_: dict[TopicPartition, int]) -> None:
    assert offsets(offsets_json(given_)) == given_
    assert parse_stream({**ENOUGH, "startingOffsets": offsets_json(given_)}).read.start == SpecificOffsetRangeLimit(
        given_
    )


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["t", "0", "x"]), inner, max_size=3),
    max_leaves=8,
)
VALUED = (
    "assign",
    "subscribePattern",
    "startingOffsets",
    "startingTimestamp",
    "startingOffsetsByTimestamp",
    "startingOffsetsByTimestampStrategy",
    "failOnDataLoss",
    "minPartitions",
    "maxRecordsPerPartition",
    "maxOffsetsPerTrigger",
    "maxTriggerDelay",
    "prefetchOffsets",
)


@given(st.sampled_from(VALUED), json_values.map(json.dumps) | st.text(max_size=20))
def test_any_text_is_read_or_refused_with_the_option_named(name: str, text: str) -> None:
    what = {} if name in ("assign", "subscribePattern") else {"subscribe": "t"}
    with suppress(ConfigError):
        parse_stream({**SERVERS, **what, name: text})
        return

    with pytest.raises(ConfigError, match=name):
        parse_stream({**SERVERS, **what, name: text})


@pytest.mark.parametrize(
    ("text", "seconds"), [("15m", 900), ("2 min", None), ("20S", 20), ("250", 0.25), ("1h", 3600), ("-1s", None)]
)
def test_durations_are_those_of_sparks_configuration(text: str, seconds: float | None) -> None:
    if seconds is None:
        with pytest.raises(ValueError, match="must be a number with one of the units us, ms, s, m, min, h, d"):
            duration(text)
    else:
        assert duration(text) == seconds


def test_every_problem_is_reported_at_once() -> None:
    found = problems(parse, includeHeaders="perhaps", minPartitions="0", kafka__isolation__level="dirty", nonsense="1")

    assert len(found) == 4


BACKWARDS = {
    "startingOffsetsByTimestamp": '{"a":{"0":9}}',
    "endingOffsetsByTimestamp": '{"a":{"0":8}}',
}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"startingOffset": "earliest"}, "did you mean startingOffsets?"),
        ({"assign": '{"a":[0]}'}, "option subscribe excludes `assign`: give one of them"),
        ({"subscribePattern": "a.*"}, "option subscribe excludes `subscribePattern`: give one of them"),
        (BACKWARDS, "endingOffsetsByTimestamp gives a-0 the time 8, and startingOffsetsByTimestamp 9"),
        ({"startingTimestamp": "9", "endingTimestamp": "8"}, "endingTimestamp is 8, before startingTimestamp, 9"),
        ({"maxRecordsPerPartition": "0"}, "maxRecordsPerPartition must be a whole number above 0"),
        ({"startingOffsets": "latest"}, "startingOffsets cannot be latest in a batch read"),
        ({"endingOffsets": "earliest"}, "endingOffsets cannot be earliest in a batch read"),
        ({"startingOffsets": '{"a":{"0":-1}}'}, "a-0 the offset -1"),
        ({"endingOffsets": '{"a":{"0":-2}}'}, "a-0 the offset -2"),
        ({"endingOffsets": '{"a":{"0":-3}}'}, "a-0 the offset -3; below 0 there are -1, the latest, and -2"),
        ({"endingOffsets": "[1]"}, "must be earliest, latest or JSON"),
        ({"endingOffsets": '{"a":{"0":1.5}}'}, "must be earliest, latest or JSON"),
        ({"subscribe": " , "}, "names no topic"),
        ({"startingOffsets": "[" * 100_000}, "must be earliest, latest or JSON"),
        ({"kafka__isolation__level": "read_committed", "isolationReader": "masked"}, "excludes kafka.isolation.level"),
        ({"subscribe": None, "assign": '{"a":[]}'}, "option assign names no partition"),
        ({"kafka__bootstrap__servers": ""}, "is missing; give the cluster as HOST:PORT"),
        ({"kafka__auto__offset__reset": "earliest"}, "startingOffsets says where to begin"),
        ({"kafka__enable__auto__commit": "true"}, "a read commits no offsets"),
        ({"kafka__Value__deserializer": "x"}, "keys and values are bytes"),
        ({"fetchOffset__numRetries": "3"}, "until kafka.default.api.timeout.ms"),
        ({"provider": "eosfw", "option__subscribe": "a", "owner": "me"}, "write CREATE TEMPORARY VIEW"),
    ],
)
def test_a_wrong_option_is_named_with_what_to_write(given: dict[str, str | None], message: str) -> None:
    (found,) = problems(parse, **given)

    assert message in found


@pytest.mark.parametrize("read", [parse, parse_stream, includes_headers])
def test_a_table_of_the_catalog_whose_options_spark_drops_is_refused_with_what_to_write(
    read: Callable[[dict[str, str]], object],
) -> None:
    with pytest.raises(ConfigError) as raised:
        read({})  # Spark drops the options of such a table

    assert "write CREATE TEMPORARY VIEW" in str(raised.value)


def test_options_of_spark_jobs_without_meaning_here_are_accepted() -> None:
    """As Spark does: no group is joined, and limits of micro-batches are named to be warned of."""
    options = parse({**ENOUGH, "groupIdPrefix": "team", "kafka.group.id": "g", "maxOffsetsPerTrigger": "3"})

    assert (options.ignored, options.properties["group.id"]) == (("maxOffsetsPerTrigger",), "g")


# --- streams


def test_a_stream_begins_at_the_latest_offsets_without_limits() -> None:
    """Spark's defaults."""
    options = parse_stream(ENOUGH)

    assert (options.read.start, options.limits) == (LatestOffsetRangeLimit(), ReadLimits(max_delay=900))


def test_a_stream_has_limits_for_each_micro_batch() -> None:
    given_ = {"maxOffsetsPerTrigger": "10", "MINOFFSETSPERTRIGGER": "2", "maxTriggerDelay": "5s"}

    found = parse_stream({**ENOUGH, **given_, "maxBytesPerTrigger": "100"}).limits

    assert found == ReadLimits(10, 2, 5.0, 100)


def test_a_stream_begins_where_its_options_say() -> None:
    by_time = {"startingOffsetsByTimestamp": '{"a":{"0":7}}', "startingOffsetsByTimestampStrategy": "LATEST"}
    starts = [
        ({"startingOffsets": "earliest"}, EarliestOffsetRangeLimit()),
        ({"startingOffsets": '{"a":{"0":-1}}'}, SpecificOffsetRangeLimit({TopicPartition("a", 0): -1})),
        (by_time, SpecificTimestampRangeLimit({TopicPartition("a", 0): 7}, LATEST)),
        ({**by_time, "startingTimestamp": " 9 "}, GlobalTimestampRangeLimit(9, LATEST)),
    ]
    for given_, start in starts:
        assert parse_stream({**ENOUGH, **given_}).read.start == start


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"endingOffsets": "latest"}, "endingOffsets is for batch reads: a stream ends with its trigger"),
        ({"endingTimestamp": "1"}, "endingTimestamp is for batch reads"),
        ({"endingOffsetsByTimestamp": "{}"}, "endingOffsetsByTimestamp is for batch reads"),
        ({"maxOffsetsPerTrigger": "0"}, "maxOffsetsPerTrigger must be a whole number above 0"),
        ({"maxOffsetsPerTrigger": "3", "minOffsetsPerTrigger": "4"}, "is above maxOffsetsPerTrigger: 4"),
        ({"maxTriggerDelay": "soon"}, "must be a number with one of the units"),
        ({"startingTimestamp": "-1"}, "must be milliseconds since 1970"),
        ({"startingOffsetsByTimestamp": '{"a":{"0":-1}}'}, "gives a-0 the time -1"),
        ({"startingOffsetsByTimestampStrategy": "guess"}, "must be error or latest, not guess"),
        ({"failOnDataLoss": "maybe"}, "must be true or false"),
    ],
)
def test_a_wrong_option_of_a_stream_is_named(given: dict[str, str], message: str) -> None:
    (found,) = problems(parse_stream, **given)

    assert message in found


# --- patterns


def pattern(text: str) -> re.Pattern[str] | None:
    return parse_stream({**SERVERS, "subscribePattern": text}).read.pattern


def test_a_pattern_is_looked_for_anywhere_in_a_name() -> None:
    """As Spark does since it asks an admin client; Kafka's internal topics are never selected."""
    names = ["orders", "old-orders", "orders-2", "__consumer_offsets", "users"]

    assert matching_topics(compile_pattern("orders"), names) == ("old-orders", "orders", "orders-2")
    assert matching_topics(compile_pattern("^orders$"), names) == ("orders",)
    assert matching_topics(compile_pattern("o"), names) == ("old-orders", "orders", "orders-2")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty; give a regular expression"),
        (r"\p{Alpha}+", r"Python's `re`, which reads it here, does not take it: bad escape \p"),
        (r"\Qa.b\E", r"bad escape \Q"),
        ("(?<name>a)", "does not take it: unknown extension"),
        ("a(", "does not take it: missing )"),
        ("[a-z&&[^b]]", "the intersection && of classes, at position 4, is read by Java only"),
        ("[a[bc]]", "a class within a class, at position 2, is read by Java only"),
        ("[a--b]", "does not take it"),
    ],
)
def test_a_pattern_that_python_would_read_otherwise_is_refused(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as raised:
        pattern(text)

    assert message in str(raised.value)
    assert "option subscribePattern" in str(raised.value)


@pytest.mark.parametrize("text", [r"a\[b\]", "[]a]", "[^]a]", "a&&b", r"[\[\]]", "orders-.*", "(?i)a|b{2,3}", "a++b"])
def test_a_pattern_that_both_read_alike_is_taken(text: str) -> None:
    assert pattern(text) == re.compile(text)
