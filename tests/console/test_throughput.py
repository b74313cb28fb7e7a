"""Rates come from what workers count, and never run backwards (UIC-03)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eosfw_console.templates import rendered_regions
from eosfw_console.throughput import Counts, Throughput, connector_counts, parsed_metrics, source_metrics, sparkline

TEXT = """\
# HELP kafka_connect_source_task_source_record_write_total records that were sent
# TYPE kafka_connect_source_task_source_record_write_total counter
kafka_connect_source_task_source_record_write_total{connector="c",task="0"} 5.0
kafka_connect_source_task_source_record_write_total{connector="c",task="1"} 7.0
# TYPE kafka_connect_source_task_transactions_total counter
kafka_connect_source_task_transactions_total{connector="c",task="0"} 2.0
# HELP kafka_connect_postgres_lag_bytes how far the slot is behind
# TYPE kafka_connect_postgres_lag_bytes gauge
kafka_connect_postgres_lag_bytes{connector="c",slot="s",task=""} 42.0
"""


def test_counts_are_those_of_all_workers():
    assert connector_counts(parsed_metrics([TEXT, TEXT])) == Counts(records=24, transactions=4)


def test_what_a_source_measures_is_shown_beside_it():
    (lag,) = source_metrics(parsed_metrics([TEXT]))

    assert (lag.name, lag.labels, lag.value, lag.doc) == (
        "postgres_lag_bytes",
        {"slot": "s"},
        42.0,
        "how far the slot is behind",
    )


@pytest.mark.parametrize(("text", "shown"), [("NaN", "nan"), ("+Inf", "inf"), ("-Inf", "-inf"), ("42.0", "42")])
def test_what_a_source_could_not_measure_is_shown_as_it_is(text, shown):
    """Prometheus has such values, and a page has to show the others."""
    measured = source_metrics(parsed_metrics([TEXT.replace("42.0", text)]))

    page = rendered_regions("connector.html", ("source",), {"source": measured})["source"]

    assert f'<td class="amount">{shown}</td>' in page


@given(st.lists(st.tuples(st.floats(0.1, 100), st.integers(0, 10**9)), max_size=300))
def test_rates_are_never_negative_and_few(looks):
    """Also after a restart, which counts from 0 again."""
    at = 0.0
    throughput = Throughput(lambda: at)
    for pause, records in looks:
        at += pause
        throughput.add("c", Counts(records))

    rates = throughput.records_per_second("c")
    assert all(rate >= 0 for rate in rates)
    assert len(rates) <= 120


def test_a_rate_is_what_was_counted_between_two_looks():
    at = [0.0]
    throughput = Throughput(lambda: at[0])
    for now, counts in [(0, Counts(0, 0)), (2, Counts(100, 4)), (4, Counts(100, 4))]:
        at[0] = now
        throughput.add("c", counts)

    assert throughput.records_per_second("c") == [50, 0]
    assert throughput.transactions_per_second("c") == [2, 0]
    assert throughput.records_per_second("unknown") == []


def test_the_looks_at_many_connectors_are_forgotten():
    throughput = Throughput(lambda: 0.0)
    for n in range(2_000):
        throughput.add(str(n), Counts(n))
        throughput.add(str(n), Counts(n))

    assert len(throughput._seen) == 1_000


@pytest.mark.parametrize(("rates", "points"), [([], ""), ([1.0], ""), ([0.0, 10.0], "238.0,39.0 240.0,1.0")])
def test_a_line_ends_at_the_right(rates, points):
    assert sparkline(rates) == points
