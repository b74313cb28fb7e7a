"""Interrupt a connector's call that blocks the only thread of a test.

In virtual time all tasks share that thread, and the clock stands still while one of them blocks it. So another thread
checks, in real time, whether calls make progress. If not, it sends a signal whose handler raises inside the blocked
call.
"""

from __future__ import annotations

import signal
import sys
from _thread import get_ident
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import pytest

from eosfw.concurrency import Event, Runtime
from pytest_eos.environment.clusters.cluster import runtime
from pytest_eos.environment.config.clocks import NEEDS_REAL
from pytest_eos.environment.diagnostics.task_calls import CallLog, call_location

_SIGNAL = signal.SIGURG
"""A signal that is ignored by default, so a late one does no harm; its handler interrupts a blocked call."""
_LOOKS = 4
"""How often progress is checked within the patience."""
_AGAIN = 1.0
"""The patience in seconds after a first call of the test was found to block."""
_DEBUGGERS = frozenset({"pdb", "bdb", "IPython", "pydevd", "debugpy", "pudb"})


@dataclass(slots=True)
class _Watch:
    log: CallLog
    patience: float
    over: Event
    thread: int = field(default_factory=get_ident)
    blocked_for: float = 0.0
    """The seconds for which a call has blocked; 0 while no call has blocked too long."""
    seen: tuple[Any, ...] = ()

    def run(self, clock: Runtime) -> None:
        """Check progress until the test is over."""
        since = clock.now()
        while not self.over.wait(self.patience / _LOOKS):
            progress = self.log.progress()
            if not progress or progress != self.seen:
                self.seen, since = progress, clock.now()
            elif clock.now() - since >= self.patience:
                self._interrupt(clock.now() - since)
                since = clock.now()

    def _interrupt(self, seconds: float) -> None:
        if self.blocked_for:  # the last signal was not handled: this call cannot be interrupted
            frame = sys._current_frames().get(self.thread)  # noqa: SLF001 - the one way to see another thread's
            sys.__stderr__.write(f"\npytest-eos: {self.text(frame)}\n")  # type: ignore[union-attr]
        self.blocked_for = seconds
        signal.pthread_kill(self.thread, _SIGNAL)

    def handle(self, _: int, frame: FrameType | None) -> None:
        """Raise inside the blocked call, unless it has made progress or a debugger holds it."""
        blocks = self.blocked_for and self.log.progress() == self.seen and not _debugged(frame)
        text = self.text(frame) if blocks else ""
        self.blocked_for = 0.0
        if text:
            self.patience = min(self.patience, _AGAIN)
            raise pytest.fail.Exception(text, pytrace=False)

    def text(self, frame: FrameType | None) -> str:
        """The message: which call blocks, and where."""
        calls = self.log.blocked()
        what = f"{calls.calling} of task {calls.name}" if calls is not None else "a task"
        return (
            f"{what} blocks: it has not returned for {self.blocked_for:.0f} s of real time, and stands in "
            f"{call_location(frame)}. A call must return within about a second. {NEEDS_REAL}"
        )


@contextmanager
def watching(log: CallLog, patience: float) -> Iterator[None]:
    """Fail the test if a call takes longer than `patience` real seconds; works on the main thread only."""
    watch = _Watch(log, patience, runtime().event())
    try:
        before = signal.signal(_SIGNAL, watch.handle)
    except ValueError:  # this is another thread
        yield
        return
    looking = runtime().spawn("eos-watchdog", lambda: watch.run(runtime()))
    try:
        yield
    finally:
        watch.over.set()
        looking.join()
        signal.signal(_SIGNAL, before)


def _debugged(frame: FrameType | None) -> bool:
    while frame is not None:
        if str(frame.f_globals.get("__name__", "")).partition(".")[0] in _DEBUGGERS:
            return True
        frame = frame.f_back
    return False
