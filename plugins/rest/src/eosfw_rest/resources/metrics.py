"""Metrics in Prometheus's text format, named as the JMX exporter names those of Kafka Connect."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector

from eosfw.observe import Metric
from eosfw.protocols import Herder
from eosfw_rest.messages import Answer, RestRequest

_TOTAL = "_total"


def exposition(request: RestRequest, herder: Herder) -> Answer:
    """What this worker, its tasks and its process have measured, for Prometheus; `connector` asks for one's alone."""
    registry = CollectorRegistry()
    wanted = request.query.get("connector")
    if wanted:
        registry.register(_Families([one for one in herder.metrics() if one.labels.get("connector") in wanted]))
    else:
        registry.register(_Families(herder.metrics()))
        ProcessCollector(registry=registry)
    return Answer(body=generate_latest(registry), headers={"Content-Type": CONTENT_TYPE_LATEST})


class _Families(Collector):
    def __init__(self, metrics: Sequence[Metric]) -> None:
        self._metrics = metrics

    def collect(self) -> Iterable[Family]:
        families: dict[str, CounterMetricFamily | GaugeMetricFamily] = {}
        labels: dict[str, set[str]] = {}
        for metric in self._metrics:  # plugins may measure one thing by different labels; a family has one set of them
            labels.setdefault(_name(metric), set()).update(metric.labels)
        for metric in self._metrics:
            name = _name(metric)
            wanted = sorted(labels[name])
            if name not in families:
                kind = CounterMetricFamily if name.endswith(_TOTAL) else GaugeMetricFamily
                families[name] = kind(name.removesuffix(_TOTAL), metric.doc, labels=wanted)
            families[name].add_metric([metric.labels.get(label, "") for label in wanted], metric.value)
        return families.values()

    def describe(self) -> Iterator[Family]:
        return iter(())


def _name(metric: Metric) -> str:
    group = metric.group.removesuffix("-metrics")
    return f"kafka_connect_{group}_{metric.name}".replace("-", "_")
