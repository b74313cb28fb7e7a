"""The interface by which a run reports its progress."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from eosfw.pipeline.local.local_run import LocalRun
    from eosfw.protocols import QueryProgress


class Reporter(Protocol):
    """Is called with a run's progress, on the run's own thread unless a method says otherwise."""

    def started(self, run: LocalRun) -> None:
        """The run has its cluster and worker; their history and status can be read from now on."""

    def phase(self, text: str) -> None:
        """A new phase begins."""

    def committed(self, records: int, transactions: int) -> None:
        """So many were committed up to now; called often."""

    def advanced(self, done: int, total: int, unit: str) -> None:
        """The current phase has done so many of `total`, counted in `unit`; called now and then, if it is known."""

    def query(self, step: str, progress: QueryProgress) -> None:
        """A streaming step has come so far; called now and then."""

    def warning(self, text: str) -> None:
        """Something is wrong that is no error; called on any thread."""


class SilentReporter:
    """A reporter that ignores every call."""

    def started(self, run: LocalRun) -> None:
        """Do nothing."""

    def phase(self, text: str) -> None:
        """Do nothing."""

    def committed(self, records: int, transactions: int) -> None:
        """Do nothing."""

    def advanced(self, done: int, total: int, unit: str) -> None:
        """Do nothing."""

    def warning(self, text: str) -> None:
        """Do nothing."""

    def query(self, step: str, progress: QueryProgress) -> None:
        """Do nothing."""
