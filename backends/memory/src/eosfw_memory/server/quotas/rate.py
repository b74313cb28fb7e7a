"""Measure a rate over the last windows of time. Kafka's `Rate` over a `SampledStat`."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import NamedTuple


class Windows(NamedTuple):
    """How a rate is measured: over so many windows, of so many milliseconds each."""

    number: int
    size_ms: int


class Measured(NamedTuple):
    """A rate in units per second, and the milliseconds that it was measured over."""

    per_second: float
    over_ms: int


@dataclass(slots=True)
class _Sample:
    start_ms: int
    last_ms: int
    total: float = 0.0


class Rate:
    """The rate of one kind of use."""

    def __init__(self, windows: Windows) -> None:
        self._windows = windows
        # One more than counts: the oldest may have begun before the time that is measured, and reach into it.
        self._samples: deque[_Sample] = deque(maxlen=windows.number + 1)

    def record(self, value: float, now_ms: int) -> None:
        """Add a use, or with less than 0 take one back."""
        if not self._samples or now_ms - self._samples[-1].start_ms >= self._windows.size_ms:
            self._samples.append(_Sample(now_ms, now_ms))
        self._samples[-1].total += value
        self._samples[-1].last_ms = now_ms

    def measure(self, now_ms: int) -> Measured:
        """The rate now."""
        number, size_ms = self._windows
        while self._samples and now_ms - self._samples[0].last_ms >= number * size_ms:
            self._samples.popleft()
        elapsed = now_ms - self._samples[0].start_ms if self._samples else 0
        # A client that has just begun is measured as if it had been silent before: else its first request is a burst.
        over_ms = max(elapsed + max(0, number - 1 - elapsed // size_ms) * size_ms, 1)
        return Measured(sum(each.total for each in self._samples) * 1000 / over_ms, over_ms)

    def is_unused(self, now_ms: int, for_ms: int) -> bool:
        """Whether nothing was recorded for so long."""
        return not self._samples or now_ms - self._samples[-1].last_ms >= for_ms
