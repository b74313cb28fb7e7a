"""Interrupt a connector's call that blocks the only thread of a test.

In virtual time all tasks share that thread, and the clock stands still while one of them blocks it. So another thread
checks, in real time, whether calls make progress. If not, it sends a signal whose handler raises inside the blocked
call.
"""

from __future__ import annotations

import signal
import sys
import time
from _thread import get_ident
from collections.abc import Callable, Iterator
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
_WAITING = 5.0
"""The patience in seconds with a call that only waits: such a call has no reason to be slow on a busy machine.

With the last look, and the start of the test, it is found within 10 s.
"""
_COMPUTES = 0.1
"""From which share of a core on a call is taken to compute; a process whose only call waits uses about a hundredth."""
_AGAIN = 1.0
"""The patience in seconds after a first call of a test of the same class was found to block."""
_BLOCKED = pytest.StashKey[bool]()
_REMEDIES = {
    "poll": "Have `poll` return an empty list when its source has nothing to give for about a second: it is called "
    "again soon",
    "watch": "Have `watch` return the seconds until its next look within about a second: it is called again",
    "stop": "`stop` must return within about a second: give what it waits for a timeout",
}
_REMEDY = "It must return within about a second: give what it waits for a timeout, and raise RetriableError then"
_DEBUGGERS = frozenset({"pdb", "bdb", "IPython", "pydevd", "debugpy", "pudb"})


@dataclass(slots=True)
class _Watch:
    log: CallLog
    patience: float
    over: Event
    used: Callable[[], float]
    """The processor time of this process in seconds."""
    thread: int = field(default_factory=get_ident)
    blocked_for: float = 0.0
    """The seconds for which a call has blocked; 0 while no call has blocked too long."""
    seen: tuple[Any, ...] = ()
    hint: str = ""
    found: bool = False

    def run(self, clock: Runtime) -> None:
        """Check progress until the test is over."""
        since, used = clock.now(), self.used()
        while not self.over.wait(min(self.patience, _WAITING) / _LOOKS):
            progress, seconds = self.log.progress(), clock.now() - since
            computes = self.used() - used > seconds * _COMPUTES
            if not progress or progress != self.seen:
                self.seen, since, used = progress, clock.now(), self.used()
            elif seconds >= (self.patience if computes else min(self.patience, _WAITING)):
                self._interrupt(seconds)
                since, used = clock.now(), self.used()
            elif self.blocked_for:  # a signal that comes right before a call begins to wait does not end its wait
                signal.pthread_kill(self.thread, _SIGNAL)

    def _interrupt(self, seconds: float) -> None:
        if self.blocked_for:  # the last signal was not handled: this call cannot be interrupted
            frame = sys._current_frames().get(self.thread)  # noqa: SLF001 - the one way to see another thread's
            sys.__stderr__.write(f"\npytest-eos: {self.text(frame, self.blocked_for)}\n")  # type: ignore[union-attr]
        self.blocked_for = seconds
        signal.pthread_kill(self.thread, _SIGNAL)

    def handle(self, _: int, frame: FrameType | None) -> None:
        """Raise inside the blocked call, unless it has made progress or a debugger holds it."""
        # First of all: the next signal may come while this one is handled, and would find the call in this method.
        seconds, self.blocked_for = self.blocked_for, 0.0
        if seconds and self.log.progress() == self.seen and not _debugged(frame):
            self.patience, self.found = min(self.patience, _AGAIN), True
            raise pytest.fail.Exception(self.text(frame, seconds), pytrace=False)

    def text(self, frame: FrameType | None, seconds: float) -> str:
        """The message: which call blocks, and where."""
        calls = self.log.blocked()
        what = f"{calls.calling} of {calls.what} {calls.name}" if calls is not None else "a task"
        remedy = _REMEDIES.get(str(calls.calling), _REMEDY) if calls is not None else _REMEDY
        return (
            f"{what} blocks: it has not returned for {seconds:.0f} s of real time, and stands in "
            f"{call_location(frame)}. {remedy}.{self.hint}"
        )


@contextmanager
def watching(
    stash: pytest.Stash,
    log: CallLog,
    patience: float,
    *,
    virtual: bool,
    clock: Runtime | None = None,
    used: Callable[[], float] = time.process_time,
) -> Iterator[None]:
    """Fail the test if a call waits for several real seconds, or computes for `patience`; on the main thread only.

    `stash` is that of the test's class, whose other tests are likely to block in the same call.
    """
    clock = clock or runtime()
    again = stash.get(_BLOCKED, False)
    hint = f" {NEEDS_REAL}" if virtual else ""
    watch = _Watch(log, min(patience, _AGAIN) if again else patience, clock.event(), used, hint=hint)
    try:
        before = signal.signal(_SIGNAL, watch.handle)
    except ValueError:  # this is another thread
        yield
        return
    looking = clock.spawn("eos-watchdog", lambda: watch.run(clock))
    try:
        yield
    finally:
        watch.over.set()
        looking.join()
        signal.signal(_SIGNAL, before)
        stash[_BLOCKED] = again or watch.found


def _debugged(frame: FrameType | None) -> bool:
    while frame is not None:
        if str(frame.f_globals.get("__name__", "")).partition(".")[0] in _DEBUGGERS:
            return True
        frame = frame.f_back
    return False
