"""Offer the observer to the framework."""

from __future__ import annotations

from collections.abc import Iterable

from eosfw.hookspecs import hookimpl
from eosfw.protocols import Observer
from eosfw_opentelemetry.span_observer import SpanObserver


@hookimpl
def eosfw_observers() -> Iterable[type[Observer]]:
    """Offer spans."""
    return [SpanObserver]
