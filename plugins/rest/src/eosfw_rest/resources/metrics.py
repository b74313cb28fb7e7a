"""Metrics in Prometheus's text format."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector

from eosfw.observe import Metric, exported
from eosfw.protocols.herder import WorkerGroupQueries
from eosfw_rest.messages import Answer, RestRequest


def exposition(request: RestRequest, queries: WorkerGroupQueries) -> Answer:
    """What this worker, its tasks and its process have measured, for Prometheus; `connector` asks for one's alone."""
    registry = CollectorRegistry()
    wanted = request.query.get("connector")
    if wanted:
        registry.register(_Families([one for one in queries.metrics() if one.labels.get("connector") in wanted]))
    else:
        registry.register(_Families(queries.metrics()))
        ProcessCollector(registry=registry)
    return Answer(body=generate_latest(registry), headers={"Content-Type": CONTENT_TYPE_LATEST})


class _Families(Collector):
    def __init__(self, metrics: Sequence[Metric]) -> None:
        self._metrics = metrics

    def collect(self) -> Iterable[Family]:
        found = [exported(metric) for metric in self._metrics]
        families: dict[str, CounterMetricFamily | GaugeMetricFamily] = {}
        labels: dict[str, set[str]] = {}
        for one in found:  # plugins may measure one thing by different labels; a family has one set of them
            labels.setdefault(one.name, set()).update(one.labels)
        for one in found:
            wanted = sorted(labels[one.name])
            if one.name not in families:
                kind = CounterMetricFamily if one.is_counter else GaugeMetricFamily
                families[one.name] = kind(one.name, one.doc, labels=wanted)
            families[one.name].add_metric([one.labels.get(label, "") for label in wanted], one.value)
        return families.values()

    def describe(self) -> Iterator[Family]:
        return iter(())
