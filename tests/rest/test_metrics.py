"""`GET /metrics` is Prometheus's text format, which its own parser reads (MET-01)."""

from __future__ import annotations

import urllib.request
from collections.abc import Sequence

from prometheus_client.parser import text_string_to_metric_families

from eosfw.observe import Metric
from eosfw_rest.messages import RestRequest
from eosfw_rest.resources import metrics

from .in_memory_herder import InMemoryHerder

LABELS = {"connector": 'with "quotes"\n', "task": "0"}


class MeasuredHerder(InMemoryHerder):
    def metrics(self) -> Sequence[Metric]:
        return [
            Metric("source-task-metrics", "source-record-write-total", 7, LABELS, "records"),
            Metric("source-task-metrics", "source-record-write-total", 8, {**LABELS, "task": "1"}, "records"),
            Metric("connect-worker-metrics", "task-count", 2, {}, "tasks"),
        ]


def test_names_are_those_of_the_jmx_exporter_and_labels_survive() -> None:
    answer = metrics.exposition(RestRequest("GET", "/metrics"), MeasuredHerder())

    families = {one.name: one for one in text_string_to_metric_families(answer.body.decode())}
    written = families["kafka_connect_source_task_source_record_write"]
    assert written.type == "counter"
    assert [(one.labels, one.value) for one in written.samples] == [(LABELS, 7), ({**LABELS, "task": "1"}, 8)]
    assert families["kafka_connect_worker_task_count"].samples[0].value == 2
    assert answer.headers["Content-Type"].startswith("text/plain")
    assert "process_resident_memory_bytes" in families


def test_the_metrics_of_one_connector_are_shown_alone() -> None:
    """A page about one of a thousand connectors need not read what all of them measure."""
    asked = RestRequest("GET", "/metrics", query={"connector": ["orders"]})
    answer = metrics.exposition(asked, MeasuredHerder())
    own = metrics.exposition(
        RestRequest("GET", "/metrics", query={"connector": [LABELS["connector"]]}), MeasuredHerder()
    )

    assert answer.body == b""
    assert [one.name for one in text_string_to_metric_families(own.body.decode())] == [
        "kafka_connect_source_task_source_record_write"
    ]


def test_plugins_that_measure_one_thing_by_different_labels_are_shown_in_one_family() -> None:
    """PLG-09: Prometheus refuses a family of which some samples have other labels."""

    class Herder(InMemoryHerder):
        def metrics(self) -> Sequence[Metric]:
            labels = {**LABELS, "plugin": "task"}
            other = Metric("plugins", "rows-total", 2, {**labels, "task": "1", "table": "orders"}, "rows")
            return [Metric("plugins", "rows-total", 1, labels, "rows"), other]

    answer = metrics.exposition(RestRequest("GET", "/metrics"), Herder())

    families = {one.name: one for one in text_string_to_metric_families(answer.body.decode())}
    rows = families["kafka_connect_plugins_rows"]
    assert [(one.labels["table"], one.labels["plugin"], one.value) for one in rows.samples] == [
        ("", "task", 1),
        ("orders", "task", 2),
    ]
    assert {one.name for one in rows.samples} == {"kafka_connect_plugins_rows_total"}


def test_metrics_are_served_with_their_content_type(server) -> None:
    with urllib.request.urlopen(f"{server.url}/metrics", timeout=20) as answer:
        assert answer.headers["Content-Type"].startswith("text/plain")
        assert b"process_resident_memory_bytes" in answer.read()
