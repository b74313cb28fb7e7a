"""How far a run is, on stderr: a live line on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, Self, TextIO

from rich.console import Console, Group
from rich.file_proxy import FileProxy
from rich.live import Live

from eosfw.cli.run.status_line import (
    Estimate,
    StatusLine,
    committed_parts,
    connector_parts,
    duration_text,
    progress_amount,
    query_parts,
)
from eosfw.concurrency import Runtime
from eosfw.connectors import SourceProgress
from eosfw.pipeline.local.local_run import LocalRun
from eosfw.protocols import QueryProgress
from eosfw.runtime import WorkerStatus

_REFRESH = 0.2
"""Seconds between two states of the line on a terminal."""
_HEARTBEAT = 10.0
"""Seconds without a line after which one says that the run goes on, where stderr is no terminal."""


class Progress:
    """The `Reporter` of the command line; nothing but warnings when quiet. A context manager.

    A thread of its own keeps the line going, whatever the run waits for. Its state is computed before rich is called:
    rich's locks must not be held while a worker's are taken, since that worker may be about to log.
    """

    def __init__(self, runtime: Runtime, *, quiet: bool, stream: TextIO | None = None) -> None:
        self._runtime = runtime
        self._quiet = quiet
        self._console = Console(file=stream or sys.stderr, soft_wrap=True, highlight=False, markup=False, emoji=False)
        self._is_live = self._console.is_interactive and "NO_COLOR" not in os.environ
        self._lock = runtime.lock()
        self._ended = runtime.event()
        self._undo = ExitStack()
        self._begun = self._phase_begun = self._shown = runtime.now()
        self._counts: tuple[int, int] | None = None
        self._advance: SourceProgress | None = None
        self._estimate = Estimate()
        self._queries: dict[str, QueryProgress] = {}
        self.queries: dict[str, QueryProgress] = {}
        """How far each streaming step came, by name."""
        self._said: set[str] = set()
        self.run: LocalRun | None = None
        """What runs, as soon as it does."""
        self.current = "starting"
        """What was begun last."""

    def __enter__(self) -> Self:
        if not self._quiet:
            live = self._undo.enter_context(self._live_line()) if self._is_live else None
            ticker = self._runtime.spawn("eosfw-progress", lambda: self._tick(live))
            self._undo.callback(ticker.join, _HEARTBEAT)
        self._undo.callback(self._ended.set)
        return self

    def __exit__(self, *_: object) -> None:
        self._undo.close()

    # --- what a run reports

    def started(self, run: LocalRun) -> None:
        self.run = run
        if run.console is not None:
            # Also when quiet: with a free port there is no other way to know it.
            self.print_line(f"eosfw: console at {run.console.url}")

    def phase(self, text: str) -> None:
        with self._lock:
            self.current, self._counts, self._advance, self._estimate = text, None, None, Estimate()
            self._queries.clear()
            self._phase_begun = self._runtime.now()
        if not self._quiet:
            self.print_line(f"eosfw: {text} ({self._phase_begun - self._begun:.1f} s)")

    def warning(self, text: str) -> None:
        self.print_line(f"eosfw: warning: {text}")

    def committed(self, records: int, transactions: int) -> None:
        self._counts = (records, transactions)

    def advanced(self, done: int, total: int, unit: str) -> None:
        self._advance = SourceProgress(done, total, unit)

    def query(self, step: str, progress: QueryProgress) -> None:
        with self._lock:
            self._queries[step] = self.queries[step] = progress
        for sentence in progress.held_back:
            if sentence not in self._said:
                self._said.add(sentence)
                self.warning(f"step {step}: {sentence}")

    # --- what is shown

    def print_line(self, text: str) -> None:
        """Print a line that stays."""
        self._shown = self._runtime.now()
        self._console.print(text)

    @contextmanager
    def _live_line(self) -> Iterator[Live]:
        """A line that changes; what is logged meanwhile is printed above it."""
        live = Live(
            "", console=self._console, auto_refresh=False, transient=True, redirect_stdout=False, redirect_stderr=False
        )
        with live, _handlers_writing_to(FileProxy(self._console, self._console.file)):
            self._console.show_cursor(True)  # so that a process that is killed leaves a terminal with its cursor
            yield live

    def _tick(self, live: Live | None) -> None:
        while not self._ended.wait(_HEARTBEAT / 10 if live is None else _REFRESH):
            if live is not None:
                live.update(Group(*self._status_lines()), refresh=True)
            elif self._runtime.now() - self._shown >= _HEARTBEAT:
                self.print_line("; ".join(str(line).lstrip() for line in self._status_lines()))

    def _status_lines(self) -> list[StatusLine]:
        """One for the run; while streaming steps run, one for each connector and each of them, too."""
        with self._lock:
            first, *others = self._parts()
            lines = [StatusLine([f"eosfw: {first}", *others])]
            return lines + [StatusLine([f"  {head}", *rest]) for head, *rest in self._part_lines()]

    def _part_lines(self) -> Iterator[Sequence[str]]:
        if self._queries and self._counts is not None and self.run is not None:
            yield from map(connector_parts, self.run.worker.status().connectors.values())
        for step, progress in self._queries.items():
            yield query_parts(step, progress)

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


@contextmanager
def _handlers_writing_to(stream: Any) -> Iterator[None]:
    """Let log handlers write to a stream for a while."""
    handlers = [one for one in logging.getLogger().handlers if isinstance(one, logging.StreamHandler)]
    before = [(one, one.setStream(stream)) for one in handlers]
    try:
        yield
    finally:
        for handler, own in before:
            handler.setStream(own)


def _trouble(status: WorkerStatus) -> list[str]:
    """Why a task gives nothing, if its start waits or its polls fail now: the first one's reason, before all else."""
    starts = [f"task {task.id}: {task.waiting}" for task in status.tasks if task.waiting is not None]
    return [*starts, *(f"task {task}: {one}" for task, one in status.poll_failures.items() if one.ongoing)][:1]
