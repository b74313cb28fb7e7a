"""What a worker measures, as OpenTelemetry collects it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

from eosfw.observe import Metric
from eosfw.protocols import MetricsContext
from eosfw_opentelemetry import metrics_reporter
from eosfw_opentelemetry.metrics_reporter import OpenTelemetryReporter
from pytest_eos.contracts import MetricsReporterContract, ReportedMetrics

TASK = {"connector": "c", "task": "0"}
WRITTEN = "source-record-write-total"


class Collected:
    """A provider of the SDK, and what it collects."""

    def __init__(self) -> None:
        self._reader = InMemoryMetricReader()
        self.provider = MeterProvider([self._reader])

    def scopes(self) -> list[Any]:
        data = self._reader.get_metrics_data()
        return [] if data is None else [scope for one in data.resource_metrics for scope in one.scope_metrics]

    def metrics(self) -> dict[str, Any]:
        """By name."""
        return {metric.name: metric.data for scope in self.scopes() for metric in scope.metrics}

    def values(self) -> Mapping[str, float | None]:
        """The newest value of each instrument."""
        return {name: data.data_points[-1].value for name, data in self.metrics().items() if data.data_points}


@pytest.fixture
def collected() -> Collected:
    return Collected()


class TestOpenTelemetryReporter(MetricsReporterContract):
    """PLG-11: as every reporter."""

    @pytest.fixture
    def reported(self, collected: Collected, monkeypatch: pytest.MonkeyPatch) -> ReportedMetrics:
        monkeypatch.setattr(metrics_reporter, "get_meter_provider", lambda: collected.provider)
        return ReportedMetrics(OpenTelemetryReporter, collected.values)


def test_a_prometheus_behind_a_collector_has_the_same_names(collected: Collected) -> None:
    """MET-04: dots become `_`, and a counter gets `_total`."""
    reporter = started(collected)
    reporter.report(
        [
            Metric("source-task-metrics", WRITTEN, 7, TASK, "records"),
            Metric("source-task-metrics", WRITTEN, 8, {**TASK, "task": "1"}, "records"),
            Metric("connect-worker-metrics", "task-count", 2, {}, "tasks"),
        ]
    )

    found = collected.metrics()
    written = found["kafka.connect.source_task_source_record_write"]
    assert (written.is_monotonic, found["kafka.connect.worker_task_count"].data_points[0].value) == (True, 2)
    points = [(dict(point.attributes), point.value) for point in written.data_points]
    assert points == [(TASK, 7), ({**TASK, "task": "1"}, 8)]


def test_whose_metrics_they_are_is_reported_once(collected: Collected) -> None:
    """MET-04: as attributes of the scope."""
    started(collected).report([Metric("connect-worker-metrics", "task-count", 2)])

    (scope,) = collected.scopes()
    assert scope.scope.name == "eosfw"
    assert dict(scope.scope.attributes) == {"connect.group.id": "g"}


def test_what_has_ended_is_not_collected_any_more(collected: Collected) -> None:
    """MET-04: else a stopped task would run for ever on a dashboard."""
    reporter = started(collected)
    reporter.report([Metric("source-task-metrics", WRITTEN, 7, TASK)])
    assert len(collected.values()) == 1

    reporter.report([Metric("connect-worker-metrics", "task-count", 0)])
    assert list(collected.values()) == ["kafka.connect.worker_task_count"]
    reporter.close()
    assert list(collected.values()) == ["kafka.connect.worker_task_count"], "what was flushed"
    assert not collected.values()


def test_the_last_values_are_sent_before_a_reporter_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """MET-04: readers collect once a minute, and a worker does not wait for them."""
    collected, sent = Collected(), list[float | None]()
    monkeypatch.setattr(collected.provider, "force_flush", lambda _: sent.extend(collected.values().values()))
    reporter = started(collected)
    reporter.report([Metric("connect-worker-metrics", "task-count", 3)])
    reporter.close()
    reporter.close()
    assert sent == [3]


def started(collected: Collected) -> OpenTelemetryReporter:
    reporter = OpenTelemetryReporter(collected.provider)
    reporter.start(MetricsContext({"connect.group.id": "g"}))
    return reporter
