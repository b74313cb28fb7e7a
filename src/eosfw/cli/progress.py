"""Show on stderr how far a run is."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator
from typing import Self, TextIO

from eosfw.cli.status_line import Estimate, committed_parts, duration_text, fit_parts, progress_amount
from eosfw.concurrency import Runtime
from eosfw.connectors import SourceProgress
from eosfw.pipeline.local_run import LocalRun
from eosfw.runtime import WorkerStatus

_LIVE = 0.2
"""Seconds between two states of the line on a terminal."""
_HEARTBEAT = 10.0
"""Seconds without a line after which one says that the run goes on, where stderr is no terminal."""
_CLEAR = "\r\x1b[2K"


class Progress:
    """One line that changes on a terminal, a line now and then elsewhere; nothing but warnings when quiet.

    A thread of its own keeps it going, whatever the run waits for. It is a context manager, and a log filter: what
    others log while the line is open gets a line of its own.
    """

    def __init__(self, runtime: Runtime, *, quiet: bool, stream: TextIO | None = None) -> None:
        self._runtime = runtime
        self._quiet = quiet
        self._stream = stream or sys.stderr
        self._live = self._stream.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
        self._lock = runtime.lock()
        self._ended = runtime.event()
        self._begun = self._phase_begun = self._shown = runtime.now()
        self._open_line = False
        self._counts: tuple[int, int] | None = None
        self._advance: SourceProgress | None = None
        self._estimate = Estimate()
        self.run: LocalRun | None = None
        """What runs, as soon as it does."""
        self.current = "starting"
        """What was begun last."""

    def __enter__(self) -> Self:
        if not self._quiet:
            self._ticker = self._runtime.spawn("eosfw-progress", self._tick)
            for handler in logging.getLogger().handlers:
                handler.addFilter(self.filter)
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        if not self._quiet:
            self._ticker.join(_HEARTBEAT)
            for handler in logging.getLogger().handlers:
                handler.removeFilter(self.filter)
        with self._lock:
            self._clear()

    # --- what a run reports

    def started(self, run: LocalRun) -> None:
        self.run = run

    def phase(self, text: str) -> None:
        with self._lock:
            self.current, self._counts, self._advance, self._estimate = text, None, None, Estimate()
            self._phase_begun = self._runtime.now()
        if not self._quiet:
            self.print_line(f"eosfw: {text} ({self._phase_begun - self._begun:.1f} s)")

    def warning(self, text: str) -> None:
        self.print_line(f"eosfw: warning: {text}")

    def committed(self, records: int, transactions: int) -> None:
        self._counts = (records, transactions)

    def advanced(self, done: int, total: int, unit: str) -> None:
        self._advance = SourceProgress(done, total, unit)

    # --- what is shown

    def print_line(self, text: str) -> None:
        """Print a line that stays."""
        with self._lock:
            self._clear()
            self._shown = self._runtime.now()
            print(text, file=self._stream, flush=True)

    def filter(self, record: logging.LogRecord) -> bool:
        """Let every log record pass, on a line of its own."""
        with self._lock:
            self._clear()
        return True

    def _tick(self) -> None:
        while not self._ended.wait(_LIVE if self._live else _HEARTBEAT / 10):
            with self._lock:
                if self._live:
                    self._redraw()
                elif self._runtime.now() - self._shown >= _HEARTBEAT:
                    self.print_line(self._status(None))

    def _redraw(self) -> None:
        # One column stays free: a line that fills the last one is wrapped by some terminals.
        print(f"{_CLEAR}{self._status(self._width() - 1)}", end="", file=self._stream, flush=True)
        self._open_line = True

    def _status(self, width: int | None) -> str:
        return fit_parts(
            [f"eosfw: {part}" if number == 0 else part for number, part in enumerate(self._parts())], width
        )

    def _parts(self) -> Iterator[str]:
        now = self._runtime.now()
        status = self.run.worker.status() if self.run is not None and self._counts is not None else None
        if status is not None:
            yield from _trouble(status)
        advance = self._advance or (None if status is None else status.progress)
        if advance is not None:
            yield from self._estimate.parts(advance, now)
        if self._counts is not None:
            yield from committed_parts(*self._counts, now - self._phase_begun)
        else:
            yield self.current
        if advance is not None:
            yield progress_amount(advance)
        yield duration_text(now - self._begun)

    def _width(self) -> int:
        try:
            return os.get_terminal_size(self._stream.fileno()).columns or 80
        except (OSError, ValueError):
            return 80

    def _clear(self) -> None:
        if self._open_line:
            print(_CLEAR, end="", file=self._stream, flush=True)
        self._open_line = False


def _trouble(status: WorkerStatus) -> list[str]:
    """Why a source gives nothing, if its polls fail now: the first task's reason, which comes before all else."""
    return [f"task {task}: {one}" for task, one in status.poll_failures.items() if one.ongoing][:1]
