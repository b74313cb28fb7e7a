"""Interrupt a connector's call that blocks the only thread of a test.

In virtual time all tasks share that thread, and no virtual second goes by while one of them blocks it. So another
thread looks, in real time, whether calls get on, and has a signal handler raise where the blocked one stands.
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
from pytest_eos.clocks import NEEDS_REAL
from pytest_eos.clusters import runtime
from pytest_eos.task_calls import CallLog, call_location

_SIGNAL = signal.SIGURG
"""Ignored by default, so that one that comes late does no harm; its handlers wake a blocked call, as any signal's."""
_LOOKS = 4
"""Looks within one patience."""
_AGAIN = 1.0
"""Seconds for whatever blocks once one call of the test was found to block."""
_DEBUGGERS = frozenset({"pdb", "bdb", "IPython", "pydevd", "debugpy", "pudb"})


@dataclass(slots=True)
class _Watch:
    log: CallLog
    patience: float
    over: Event
    thread: int = field(default_factory=get_ident)
    blocked_for: float = 0.0
    """How long the blocked call has blocked; 0 while none has too long."""
    seen: tuple[Any, ...] = ()

    def run(self, clock: Runtime) -> None:
        """Look until it is over."""
        since = clock.now()
        while not self.over.wait(self.patience / _LOOKS):
            progress = self.log.progress()
            if not progress or progress != self.seen:
                self.seen, since = progress, clock.now()
            elif clock.now() - since >= self.patience:
                self._strike(clock.now() - since)
                since = clock.now()

    def _strike(self, seconds: float) -> None:
        if self.blocked_for:  # nobody handled the last signal: this call is left by no signal
            frame = sys._current_frames().get(self.thread)  # noqa: SLF001 - the one way to see another thread's
            sys.__stderr__.write(f"\npytest-eos: {self.text(frame)}\n")  # type: ignore[union-attr]
        self.blocked_for = seconds
        signal.pthread_kill(self.thread, _SIGNAL)

    def handle(self, _: int, frame: FrameType | None) -> None:
        """Raise where the blocked call stands, unless it got on, or somebody debugs it."""
        blocks = self.blocked_for and self.log.progress() == self.seen and not _debugged(frame)
        text = self.text(frame) if blocks else ""
        self.blocked_for = 0.0
        if text:
            self.patience = min(self.patience, _AGAIN)
            raise pytest.fail.Exception(text, pytrace=False)

    def text(self, frame: FrameType | None) -> str:
        """What blocks, and where."""
        calls = self.log.blocked()
        what = f"{calls.calling} of task {calls.name}" if calls is not None else "a task"
        return (
            f"{what} blocks: it has not returned for {self.blocked_for:.0f} s of real time, and stands in "
            f"{call_location(frame)}. A call must return within about a second. {NEEDS_REAL}"
        )


@contextmanager
def watching(log: CallLog, patience: float) -> Iterator[None]:
    """Have a call that takes longer than `patience` real seconds fail the test; for pytest's main thread alone."""
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
