"""A metrics reporter that has OpenTelemetry collect what a worker measures."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.metadata import version
from typing import ClassVar

from opentelemetry.metrics import CallbackOptions, Meter, MeterProvider, Observation, get_meter_provider

from eosfw.observe import ExportedMetric, Metric, exported
from eosfw.protocols import MetricsContext

_PROMETHEUS, _OPENTELEMETRY = "kafka_connect_", "kafka.connect."
_TOTAL = "_total"
_FLUSH_TIMEOUT = 3_000
"""Milliseconds for the last values; a worker waits a little longer for all reporters together."""
_Callback = Callable[[CallbackOptions], Iterable[Observation]]


class OpenTelemetryReporter:
    """Keeps the newest values for whoever collects them: a metric reader of the SDK, at times of its own."""

    name: ClassVar[str] = "opentelemetry"

    def __init__(self, provider: MeterProvider | None = None) -> None:
        self._provider = get_meter_provider() if provider is None else provider
        self._meter: Meter | None = None
        self._values: Mapping[str, Sequence[Observation]] = {}
        """By instrument; replaced as a whole, since another thread collects."""
        self._instruments: set[str] = set()

    def start(self, context: MetricsContext) -> None:
        self._meter = self._provider.get_meter("eosfw", version("eosfw"), attributes=dict(context.labels))

    def report(self, metrics: Sequence[Metric]) -> None:
        values: dict[str, list[Observation]] = {}
        for one in map(exported, metrics):
            if math.isfinite(one.value):  # not every exporter can send infinity
                values.setdefault(_name(one), []).append(Observation(one.value, one.labels))
            self._add_instrument(one)
        self._values = values

    def close(self) -> None:
        if self._values and (flush := getattr(self._provider, "force_flush", None)) is not None:
            flush(_FLUSH_TIMEOUT)  # the API has no such method: it is the SDK's
        self._values = {}

    def _add_instrument(self, one: ExportedMetric) -> None:
        name = _name(one)
        if self._meter is None or name in self._instruments:
            return
        self._instruments.add(name)
        make = self._meter.create_observable_counter if one.is_counter else self._meter.create_observable_gauge
        # Without a unit: Prometheus would append it to the name.
        make(name, [self._observations(name)], description=one.doc)

    def _observations(self, name: str) -> _Callback:
        return lambda _: self._values.get(name, ())


def _name(one: ExportedMetric) -> str:
    """A name that Prometheus makes the exporter's of: it writes `_` for a dot, and `_total` behind a counter."""
    return _OPENTELEMETRY + one.name.removeprefix(_PROMETHEUS).removesuffix(_TOTAL)
