"""Tell whoever watches how far a run is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from eosfw.pipeline.local_run import LocalRun


class Reporter(Protocol):
    """Hears of a run's progress, on the run's own thread of control."""

    def started(self, run: LocalRun) -> None:
        """Everything a run needs is there; its history and worker can be looked at from now on."""

    def phase(self, text: str) -> None:
        """Something new begins."""

    def committed(self, records: int, transactions: int) -> None:
        """What was committed so far; called often."""

    def advanced(self, done: int, total: int, unit: str) -> None:
        """How far the phase is that began last, if it can tell: so many of so many `unit`; called now and then."""

    def warning(self, text: str) -> None:
        """Something the user should know that is no error; any thread may call."""


class SilentReporter:
    """A reporter that tells nobody."""

    def started(self, run: LocalRun) -> None:
        """Say nothing."""

    def phase(self, text: str) -> None:
        """Say nothing."""

    def committed(self, records: int, transactions: int) -> None:
        """Say nothing."""

    def advanced(self, done: int, total: int, unit: str) -> None:
        """Say nothing."""

    def warning(self, text: str) -> None:
        """Say nothing."""
