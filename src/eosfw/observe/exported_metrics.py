"""Names of Kafka Connect's metrics in Prometheus, by the example rules of the Prometheus JMX exporter.

The rules are in its `examples/kafka-connect.yml`. A test compares the result with what the exporter has served of a
real Kafka Connect.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from eosfw.state.tasks.metrics import Metric

__all__ = ["ExportedMetric", "exported"]

_PREFIX = "kafka_connect_"
_TOTAL = "-total"
_LABELS: Final = {"client-id": "clientId"}


class ExportedMetric(NamedTuple):
    """A metric as Prometheus has it."""

    name: str
    labels: dict[str, str]
    value: float
    doc: str
    is_counter: bool


def exported(metric: Metric) -> ExportedMetric:
    """A metric under its name in Prometheus."""
    labels = {_LABELS.get(label, _with_underscores(label)): text for label, text in metric.labels.items()}
    name, value = _name_and_value(metric)
    # The rules say gauge. Since its 1.0 the exporter serves a name that ends so for counters alone, and dashboards do
    # not look at types.
    is_counter = metric.name.endswith(_TOTAL)
    return ExportedMetric(_PREFIX + _with_underscores(name), labels, value, metric.doc, is_counter)


def _name_and_value(metric: Metric) -> tuple[str, float]:
    match metric.group, metric.name:
        case "app-info", "start-time-ms":
            return "start-time-seconds", metric.value / 1000
        case "app-info", name:
            return f"{name}-info", metric.value
        case "connector-task-metrics", "status":
            return "connector-status", metric.value
        case group, name:
            return f"{group.removeprefix('connect-').removesuffix('-metrics')}-{name}", metric.value


def _with_underscores(text: str) -> str:
    return text.replace("-", "_")
