"""The contract of a metrics reporter: it is given what a worker measures (Kafka's `MetricsReporter`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Protocol, runtime_checkable

from eosfw.state.tasks.metrics import Metric


@dataclass(frozen=True, slots=True)
class MetricsContext:
    """Whose metrics they are (Kafka's `MetricsContext`, KIP-606)."""

    labels: Mapping[str, str] = field(default_factory=dict)
    """`connect.group.id`, `connect.kafka.cluster.id`, and the worker's properties `metrics.context.*`."""


@runtime_checkable
class MetricsReporter(Protocol):
    """Takes metrics of a worker to where they are looked at (Kafka's `MetricsReporter`).

    It is made without arguments. One with `config` and `configure` (`Configurable`) is given the worker's
    `metric.reporters.NAME.*` first. All calls behind these come from a thread of its own, in the order `start`,
    `report`..., `close`; it may block without holding anything up.
    """

    name: ClassVar[str]
    """What `metric.reporters` says."""

    def start(self, context: MetricsContext) -> None:
        """Get ready; called once. What it raises is logged, and there is no report."""

    def report(self, metrics: Sequence[Metric]) -> None:
        """Take every value as of now, under Kafka Connect's names.

        Called each `metrics.report.interval.ms`, and a last time when the worker stops. What it raises is logged, and
        the next report comes all the same.
        """

    def close(self) -> None:
        """Let go of what `report` needs; it may come twice."""
