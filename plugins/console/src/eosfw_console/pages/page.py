"""What every page of the console is made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from eosfw.concurrency import ThreadRuntime
from eosfw_console.throughput import Throughput
from eosfw_console.worker_client import WorkerClient
from eosfw_console.worker_requests import WorkerRequests


@dataclass(frozen=True, slots=True)
class PageRequest:
    """What a visitor asks to see."""

    client: WorkerClient
    throughput: Throughput
    now: Callable[[], float]
    """Seconds since the epoch."""
    parameters: Mapping[str, str] = field(default_factory=dict)
    """Of the path, decoded."""
    query: Mapping[str, str] = field(default_factory=dict)
    workers: WorkerRequests = field(default_factory=lambda: WorkerRequests(ThreadRuntime()))


@dataclass(frozen=True, slots=True)
class Page:
    """A template with its values; its `regions` are blocks of the template that change while somebody looks."""

    template: str
    regions: Sequence[str]
    values: Mapping[str, Any]
    status: int = 200


def page_start(text: str, count: int) -> int:
    """The number of the first row from a query; 0 for what is no number of a row."""
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0
    return number if number < count else 0


PageFunction = Callable[[PageRequest], Page]
"""Makes a page; RestError if the REST interface refuses what it needs."""
