"""Offer what this package has to the framework."""

from __future__ import annotations

from collections.abc import Iterable

from eosfw.hookspecs import hookimpl
from eosfw.protocols import MetricsReporter, Observer
from eosfw_opentelemetry.metrics_reporter import OpenTelemetryReporter
from eosfw_opentelemetry.span_observer import SpanObserver


@hookimpl
def eosfw_observers() -> Iterable[type[Observer]]:
    """Offer spans."""
    return [SpanObserver]


@hookimpl
def eosfw_metrics_reporters() -> Iterable[type[MetricsReporter]]:
    """Offer what a worker measures."""
    return [OpenTelemetryReporter]
