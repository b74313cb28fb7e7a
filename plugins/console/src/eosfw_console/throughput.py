"""Records and transactions per second, from what workers count."""

from __future__ import annotations

import itertools
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families

_RECORDS: Final = "kafka_connect_source_task_source_record_write_total"
_TRANSACTIONS: Final = "kafka_connect_source_task_transactions_total"
_OPEN: Final = "kafka_connect_source_task_source_record_active_count"
_FRAMEWORK: Final = tuple(f"kafka_connect_{group}_" for group in ("source_task", "connector", "worker", "task_error"))
_SAMPLES: Final = 120
_MOST_CONNECTORS: Final = 1_000


@dataclass(frozen=True, slots=True)
class Counts:
    """What the tasks of a connector have done since they started, added up."""

    records: float = 0.0
    transactions: float = 0.0
    open_records: float = 0.0
    """Records that are sent and not committed yet."""


@dataclass(frozen=True, slots=True)
class SourceMetric:
    """What a connector measures itself, such as how far it lags behind its database."""

    name: str
    labels: Mapping[str, str]
    value: float
    doc: str


def parsed_metrics(texts: Iterable[str]) -> list[Metric]:
    """The metrics of the workers that run tasks of a connector, from Prometheus's text format."""
    return [family for text in texts for family in text_string_to_metric_families(text)]


def connector_counts(metrics: Iterable[Metric]) -> Counts:
    """The counts of a connector over all of these workers."""
    sums = dict.fromkeys((_RECORDS, _TRANSACTIONS, _OPEN), 0.0)
    for family in metrics:
        for sample in family.samples:
            if sample.name in sums:
                sums[sample.name] += sample.value
    return Counts(sums[_RECORDS], sums[_TRANSACTIONS], sums[_OPEN])


def source_metrics(metrics: Iterable[Metric]) -> list[SourceMetric]:
    """What plugins measure for a connector, sorted by name."""
    found = []
    for family in metrics:
        for sample in family.samples:
            if "connector" in sample.labels and not sample.name.startswith(_FRAMEWORK):
                labels = {name: value for name, value in sample.labels.items() if name != "connector" and value}
                name = sample.name.removeprefix("kafka_connect_")
                found.append(SourceMetric(name, labels, sample.value, family.documentation))
    return sorted(found, key=lambda one: (one.name, sorted(one.labels.items())))


class Throughput:
    """Rates between the looks at a connector, of the last four minutes at two seconds each."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._seen: OrderedDict[str, deque[tuple[float, Counts]]] = OrderedDict()

    def add(self, connector: str, counts: Counts) -> None:
        """Take the counts of now; after a restart, which counts from 0 again, the rates start anew."""
        samples = self._seen.setdefault(connector, deque(maxlen=_SAMPLES))
        self._seen.move_to_end(connector)
        if samples and (counts.records < samples[-1][1].records or counts.transactions < samples[-1][1].transactions):
            samples.clear()
        samples.append((self._now(), counts))
        while len(self._seen) > _MOST_CONNECTORS:
            self._seen.popitem(last=False)

    def records_per_second(self, connector: str) -> Sequence[float]:
        """The rate of records in each interval between two looks, oldest first."""
        return self._rates(connector, lambda counts: counts.records)

    def transactions_per_second(self, connector: str) -> Sequence[float]:
        """The rate of committed transactions in each interval between two looks, oldest first."""
        return self._rates(connector, lambda counts: counts.transactions)

    def _rates(self, connector: str, value: Callable[[Counts], float]) -> list[float]:
        # A copy, since other visitors look at the same time.
        samples = list(self._seen.get(connector, ()))
        return [
            (value(later) - value(earlier)) / (at - before)
            for (before, earlier), (at, later) in itertools.pairwise(samples)
            if at > before
        ]


def sparkline(rates: Sequence[float], width: int = 240, height: int = 40) -> str:
    """The points of an SVG polyline, the newest at the right; empty for fewer than two."""
    if len(rates) < 2:
        return ""
    top = max(rates) or 1.0
    step = width / (_SAMPLES - 2)
    first = width - step * (len(rates) - 1)
    points = (f"{first + step * at:.1f},{height - 1 - (height - 2) * rate / top:.1f}" for at, rate in enumerate(rates))
    return " ".join(points)
