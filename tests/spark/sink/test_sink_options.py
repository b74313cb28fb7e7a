"""How options of the sink of `format("eosfw")` are read."""

from __future__ import annotations

import pytest

from eosfw.errors import ConfigError
from eosfw_spark.sink.options import SinkMode, SinkOptions, parse_sink, require_fit

ENOUGH = {"kafka.bootstrap.servers": "h:1"}


def test_default_options_write_atomically() -> None:
    assert parse_sink(ENOUGH) == SinkOptions({"bootstrap.servers": "h:1"})


def test_every_option_is_read_in_any_case() -> None:
    given = {
        "TOPIC": "t",
        "IncludeHeaders": "FALSE",
        "MODE": "Parallel",
        "writers": "4",
        "backend": "memory",
        "kafka.transaction.timeout.ms": "5000",
        "kafka.default.api.timeout.ms": "7000",
        "kafka.linger.ms": "5",
        "startingBatchId": "0",
        "txnAppId": "job",
        "txnVersion": "7",
    }

    found = parse_sink({**ENOUGH, **given})

    assert found == SinkOptions(
        properties={"bootstrap.servers": "h:1", "default.api.timeout.ms": "7000", "linger.ms": "5"},
        topic="t",
        headers=False,
        mode=SinkMode.PARALLEL,
        backend="memory",
        transaction_timeout=5.0,
        api_timeout=7.0,
        writers=4,
        starting_batch=0,
        application="job",
        version=7,
    )


def test_the_staging_location_is_read() -> None:
    assert parse_sink({**ENOUGH, "stagingLocation": "/s"}).staging_location == "/s"


@pytest.mark.parametrize(
    ("given", "query", "message"),
    [
        ({"txnAppId": "job", "txnVersion": "7"}, True, "txnAppId and txnVersion are for a DataFrame"),
        ({"startingBatchId": "7"}, False, "startingBatchId is for a query"),
    ],
)
def test_an_option_that_would_mean_nothing_is_refused(given: dict[str, str], message: str, *, query: bool) -> None:
    """Whoever gives a query a version takes its rows for written once, whatever becomes of the checkpoint."""
    options = parse_sink({**ENOUGH, **given})

    with pytest.raises(ConfigError, match=message):
        require_fit(options, query=query)
    require_fit(options, query=not query)


def test_what_spark_passes_on_for_the_query_is_no_error() -> None:
    assert parse_sink({**ENOUGH, "checkpointLocation": "/c", "queryName": "q"}) == parse_sink(ENOUGH)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"topics": "t"}, "unknown option topics; did you mean topic?"),
        ({"subscribe": "t"}, "unknown option subscribe"),
        ({"max.request.size": "9"}, "txnVersion, and kafka.PROPERTY"),
        ({"mode": "fast"}, "option mode must be atomic or parallel, not fast"),
        ({"mode": "paralel", "writers": "2"}, "option mode must be atomic or parallel, not paralel"),
        ({"mode": "parallel"}, "option writers is missing"),
        ({"writers": "2"}, "option writers is for mode parallel"),
        ({"mode": "parallel", "writers": "0"}, "option writers must be a whole number above 0, not 0"),
        ({"mode": "parallel", "writers": "2", "stagingLocation": "/s"}, "option stagingLocation is for mode atomic"),
        ({"topic": " "}, "option topic is empty"),
        ({"kafka.transactional.id": "x"}, "option kafka.transactional.id cannot be chosen"),
        ({"kafka.transaction.timeout.ms": "1s"}, "must be a whole number above 0, not 1s"),
        ({"kafka.bootstrap.servers": ""}, "is missing; give the cluster as HOST:PORT"),
        ({"startingBatchId": "-1"}, "must be a whole number, 0 or above, not -1"),
        ({"txnAppId": "job"}, "txnAppId and txnVersion are given together"),
        ({"txnAppId": "job", "txnVersion": "one"}, "must be a whole number, 0 or above, not one"),
        ({"includeHeaders": "perhaps"}, "must be true or false, not perhaps"),
    ],
)
def test_a_wrong_option_is_named_with_what_to_write(given: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError) as raised:
        parse_sink({**ENOUGH, **given})

    (found,) = [str(each) for each in raised.value.problems]
    assert message in found


def test_a_table_of_the_catalog_whose_options_spark_drops_is_refused_with_what_to_use() -> None:
    with pytest.raises(ConfigError) as raised:
        parse_sink({})

    assert 'use df.write.format("eosfw")' in str(raised.value)


def test_every_problem_is_reported_at_once() -> None:
    with pytest.raises(ConfigError) as raised:
        parse_sink({"nonsense": "1", "mode": "fast"})

    assert len(raised.value.problems) == 3
