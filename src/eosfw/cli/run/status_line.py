"""The line that shows how far a run is, composed of parts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions, RenderResult
from rich.filesize import decimal
from rich.text import Text

from eosfw.connectors import SourceProgress
from eosfw.protocols import QueryProgress
from eosfw.runtime import ConnectorStatus
from eosfw.text import quantity

_SEPARATOR = ", "
_STALLED = 5.0
"""Seconds without progress after which no time left is shown. (rich.progress would keep the last rate.)"""


class StatusLine:
    """Parts of a line, the most important first; on a terminal, those that fit as a whole are shown."""

    def __init__(self, parts: Iterable[str]) -> None:
        self._parts = list(parts)

    def __str__(self) -> str:
        return _SEPARATOR.join(self._parts)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        # One column stays free: a line that fills the last one is wrapped by some terminals.
        yield Text(fit_parts(self._parts, options.max_width - 1), no_wrap=True)


def fit_parts(parts: Sequence[str], width: int) -> str:
    """As many parts as `width` columns hold; the first is cut if it alone is wider."""
    line = parts[0]
    for part in parts[1:]:
        longer = f"{line}{_SEPARATOR}{part}"
        if cell_len(longer) > width:
            break
        line = longer
    # Three dots, not an ellipsis: a terminal's encoding may lack it.
    return line if cell_len(line) <= width else set_cell_size(line, max(0, width - 3)) + "..."


def committed_parts(records: int, transactions: int, seconds: float) -> Iterator[str]:
    """How much was committed in so many seconds."""
    yield quantity(records, "record")
    yield f"{records / max(seconds, 0.001):,.0f}/s"
    yield f"{quantity(transactions, 'transaction')} committed"


def progress_amount(progress: SourceProgress) -> str:
    """How much of a source was read, in its unit."""
    if progress.unit != "bytes":
        return f"{progress.done:,} of {progress.total:,} {progress.unit}"
    return f"{decimal(progress.done)} of {decimal(progress.total)}"


def connector_parts(connector: ConnectorStatus) -> list[str]:
    """How far a connector is: its tasks, what they committed."""
    records = sum(task.records for task in connector.tasks)
    transactions = sum(task.transactions for task in connector.tasks)
    committed = f"{quantity(records, 'record')} in {quantity(transactions, 'transaction')}"
    return [f"{connector.name}: {quantity(len(connector.tasks), 'task')}", committed]


def query_parts(step: str, progress: QueryProgress) -> list[str]:
    """How far a streaming step is: its batch, its rate, how many offsets it has still to read, what holds it up."""
    if progress.batch < 0:
        return [f"{step}: no batch yet", *progress.held_back]
    parts = [f"{step}: batch {progress.batch}", f"{progress.rows_per_second:,.0f} rows/s"]
    if progress.behind is not None:
        parts.append(f"{progress.behind:,} behind")
    return [*parts, *progress.held_back]


def duration_text(seconds: float) -> str:
    """A duration in the two units that matter: `8 s`, `2 min 5 s`, `3 h 10 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


class Estimate:
    """The time that is left, from the rate since the first look; none while the source stands still."""

    def __init__(self) -> None:
        self._first: tuple[float, int] | None = None
        self._moved: tuple[float, int] | None = None
        """When progress was last seen, and how far it was."""

    def parts(self, progress: SourceProgress, now: float) -> Iterator[str]:
        """The share that is done, and the time left where a rate is known."""
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
