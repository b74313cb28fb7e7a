"""What plugins measure of themselves (Kafka's `PluginMetrics`, KIP-877).

Tasks and connectors find it at their context, other plugins by a method of their own:

    def with_plugin_metrics(self, metrics):
        self.lookups = metrics.counter("lookups", "rows that were looked up")

`GET /metrics` shows it as `kafka_connect_plugins_lookups_total`, with the labels `connector`, `task` and `plugin`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol, runtime_checkable

__all__ = ["Counter", "Gauge", "Monitorable", "PluginMetrics"]


class Counter(Protocol):
    """A number that grows, from 0 at each start of its task or connector; thread-safe."""

    def add(self, amount: float = 1) -> None:
        """Add to it; ValueError for less than 0."""


class Gauge(Protocol):
    """A number that rises and falls; thread-safe."""

    def set(self, value: float) -> None:
        """Replace the value."""


class PluginMetrics(Protocol):
    """Registers metrics of one plugin in one task, or in one connector; thread-safe.

    A name has letters, digits, `-` and `_`. Asked again for a name with the same labels, it gives the same metric.
    ValueError for a name or label that cannot be, or a name that is of the other kind already.
    """

    def counter(self, name: str, doc: str = "", labels: Mapping[str, str] | None = None) -> Counter:
        """A counter; its name ends in `-total`, which is appended if it does not."""

    def gauge(
        self,
        name: str,
        doc: str = "",
        labels: Mapping[str, str] | None = None,
        *,
        read: Callable[[], float] | None = None,
    ) -> Gauge:
        """A gauge, 0 at first; with `read` it is what that returns whenever somebody looks, on any thread."""


@runtime_checkable
class Monitorable(Protocol):
    """A transformation, predicate or converter that has metrics (Kafka's `Monitorable`)."""

    def with_plugin_metrics(self, metrics: PluginMetrics) -> None:
        """Register them; called once, behind `configure`, when its task starts."""
