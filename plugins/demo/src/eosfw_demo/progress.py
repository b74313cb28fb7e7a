"""The progress of the demo, shown on stderr."""

from __future__ import annotations

from typing import ClassVar, Self

from rich.console import Console
from rich.status import Status

from eosfw.concurrency import Runtime
from eosfw.observe import StepEvent, TaskStep

_EVERY = 0.1


class Progress:
    """Prints a line with its time for each message; on a terminal also the number of committed records.

    It is an observer, so it counts commits by itself.
    """

    name: ClassVar[str] = "demo progress"

    def __init__(self, runtime: Runtime, console: Console) -> None:
        self._runtime, self._console = runtime, console
        self.total = 0
        """How many records there will be."""
        self._start = runtime.now()
        self._lock = runtime.lock()
        self._status: Status | None = console.status("starting") if console.is_terminal else None
        self._records = 0
        self._shown = 0.0
        self.messages: list[tuple[float, str]] = []
        """All messages, each with its time in seconds."""

    def log(self, what: str) -> None:
        """Print a message with the seconds since the start."""
        now = self._runtime.now() - self._start
        self.messages.append((now, what))
        self._console.print(f"[dim]{now:5.1f} s[/]  {what}", highlight=False)

    def set_status(self, what: str) -> None:
        """Show the current activity on a terminal."""
        if self._status is not None:
            self._status.update(what)

    def observe(self, event: StepEvent) -> None:
        if event.step is not TaskStep.COMMITTED:
            return
        with self._lock:
            records = event.detail.get("records")
            self._records += records if isinstance(records, int) else 0
            due = event.at - self._shown >= _EVERY
            if due:
                self._shown = event.at
        if due:
            self.set_status(f"{self._records:,} of {self.total:,} records committed")

    def __enter__(self) -> Self:
        if self._status is not None:
            self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._status is not None:
            self._status.stop()
