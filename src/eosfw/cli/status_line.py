"""Compose the line that shows how far a run is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from eosfw.connectors import SourceProgress
from eosfw.text import quantity

_UNITS = ("bytes", "kB", "MB", "GB", "TB")
_STALLED = 5.0
"""Seconds without progress after which its rate foretells nothing."""


def fit_parts(parts: Sequence[str], width: int | None) -> str:
    """As many parts as `width` columns hold, the most important first; None is endless. At least the first is cut."""
    if width is None:
        return ", ".join(parts)
    line = parts[0]
    for part in parts[1:]:
        if len(line) + 2 + len(part) > width:
            break
        line = f"{line}, {part}"
    return line if len(line) <= width else line[: max(0, width - 3)] + "..."


def committed_parts(records: int, transactions: int, seconds: float) -> Iterator[str]:
    """How much was committed in so many seconds."""
    yield quantity(records, "record")
    yield f"{records / max(seconds, 0.001):,.0f}/s"
    yield f"{quantity(transactions, 'transaction')} committed"


def progress_amount(progress: SourceProgress) -> str:
    """How much of a source was read, in its unit."""
    if progress.unit != "bytes":
        return f"{progress.done:,} of {progress.total:,} {progress.unit}"
    return f"{_size(progress.done)} of {_size(progress.total)}"


def _size(count: int) -> str:
    value, unit = float(count), 0
    while value >= 1000 and unit < len(_UNITS) - 1:
        value, unit = value / 1000, unit + 1
    return f"{value:,.0f} {_UNITS[unit]}" if unit == 0 or value >= 100 else f"{value:.1f} {_UNITS[unit]}"


def duration_text(seconds: float) -> str:
    """A duration in the two units that matter: `8 s`, `2 min 5 s`, `3 h 10 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


class Estimate:
    """Tell how long something takes yet, from how fast it was since it was first looked at."""

    def __init__(self) -> None:
        self._first: tuple[float, int] | None = None
        self._moved: tuple[float, int] | None = None
        """When progress was last seen, and how far it was."""

    def parts(self, progress: SourceProgress, now: float) -> Iterator[str]:
        """The share that is done and the time left, while there is a rate to tell it from."""
        self._first = self._first or (now, progress.done)
        if self._moved is None or progress.done != self._moved[1]:
            self._moved = (now, progress.done)
        begun, before = self._first
        percent = 100 if progress.total == 0 else 100 * min(progress.done, progress.total) // progress.total
        yield f"{percent} %"
        gained = progress.done - before
        going = now - self._moved[0] < _STALLED
        if going and gained > 0 and progress.done < progress.total and now > begun:
            left = (progress.total - progress.done) * (now - begun) / gained
            yield f"{duration_text(left)} left"
