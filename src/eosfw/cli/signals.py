"""Signals and the time limit of a run: Ctrl-C, SIGTERM and SIGHUP end it cleanly, a second one at once."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Generic, NoReturn, TypeVar

from eosfw.concurrency import Event, Runtime
from eosfw.errors import EosfwError, ExitCode, InterruptedRunError
from eosfw.pipeline.local.control import RunControl

T = TypeVar("T")
_POLL_INTERVAL = 0.1
"""Seconds between two looks at signals and time: handlers only take note, since they may interrupt any code."""
_CLOSE_TIMEOUT = 3.0
"""Seconds that closing may take before the process is ended."""
_CLEANLY = "interrupted: what was polled is committed; the next run continues from there"
_AT_ONCE = "interrupted at once: open transactions abort; the next run continues without loss or repeat"


class OvertimeError(EosfwError):
    """A run was not done in the time it was given."""

    exit_code = ExitCode.UNAVAILABLE


@dataclass(frozen=True, slots=True)
class RunLimits:
    """How long a run may take, and what is printed when it is ended."""

    timeout: float | None = None
    stuck_report: Callable[[], str] = str
    """Describes what the run was doing when the timeout was over."""
    clean_stop_timeout: Callable[[], float] = lambda: 15.0
    """Seconds that a clean end may take before everything is closed."""
    print_line: Callable[[str], None] = lambda text: print(text, file=sys.stderr)
    """Prints what a signal caused."""


@dataclass(slots=True)
class _Outcome(Generic[T]):
    done: Event
    value: T | None = None
    error: BaseException | None = None


@dataclass(slots=True)
class _Signals:
    seen: list[int] = field(default_factory=list)

    def note(self, number: int, frame: FrameType | None) -> None:
        """Remember a signal; a handler must do no more, since it may interrupt any code."""
        self.seen.append(number)


def run_with_signals(work: Callable[[RunControl], T], runtime: Runtime, limits: RunLimits | None = None) -> T:
    """Do `work` on a thread of its own, so that a blocking call delays no signal.

    The first signal asks for a clean end, the second closes everything. A timeout asks for a clean end, and closes
    everything if that takes too long.
    """
    control = RunControl(runtime)
    outcome: _Outcome[T] = _Outcome(runtime.event())
    with _installed_handlers() as signals:
        runtime.spawn("eosfw-run", lambda: _run_work(work, control, outcome))
        _wait_for_end(outcome, control, signals, limits or RunLimits())
    if not isinstance(outcome.error, InterruptedRunError):  # that error says what could not be committed
        control.check()
    if outcome.error is not None:
        raise outcome.error
    return outcome.value  # type: ignore[return-value]  # set, since there was no error


def _run_work(work: Callable[[RunControl], T], control: RunControl, outcome: _Outcome[T]) -> None:
    try:
        outcome.value = work(control)
    except BaseException as error:  # noqa: BLE001 (raised again by the main thread)
        outcome.error = error
    finally:
        outcome.done.set()


def _wait_for_end(outcome: _Outcome[T], control: RunControl, signals: _Signals, limits: RunLimits) -> None:
    now = control.runtime.now
    begun, asked, handled = now(), None, 0
    while not outcome.done.wait(_POLL_INTERVAL):
        if len(signals.seen) > handled:
            handled = len(signals.seen)
            if control.stopping:
                return _close(outcome, control, limits, InterruptedRunError(_AT_ONCE))
            asked = now()
            limits.print_line("eosfw: stopping cleanly; once more to stop at once")
            control.stop(InterruptedRunError(_CLEANLY, signals.seen[0]))
        elif asked is not None and now() - asked > limits.clean_stop_timeout():
            return _close(outcome, control, limits)
        elif asked is None and limits.timeout is not None and now() - begun > limits.timeout:
            asked = now()
            control.stop(OvertimeError(f"not done within {limits.timeout:g} s\n{limits.stuck_report()}"))
    if signals.seen:
        control.stop(InterruptedRunError("interrupted, just as the run was done"))
    return None


def _close(outcome: _Outcome[T], control: RunControl, limits: RunLimits, reason: EosfwError | None = None) -> None:
    limits.print_line("eosfw: closing everything")
    control.runtime.spawn("eosfw-close", lambda: control.kill(reason))
    if not outcome.done.wait(_CLOSE_TIMEOUT):
        _exit_process(control)


def _exit_process(control: RunControl) -> NoReturn:
    # A call blocks though everything was closed. A thread cannot be ended from outside, so the process is.
    code = ExitCode.INTERRUPTED
    try:
        control.check()
    except EosfwError as reason:
        print(f"eosfw: {reason}", file=sys.stderr)
        code = reason.exit_code
    sys.stderr.flush()
    os._exit(code)


@contextmanager
def _installed_handlers() -> Iterator[_Signals]:
    signals = _Signals()
    before = {number: signal.signal(number, signals.note) for number in _handled_signals()}
    try:
        yield signals
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _handled_signals() -> list[signal.Signals]:
    """SIGINT, SIGTERM and SIGHUP; the last one not where it is ignored (`nohup`), or does not exist (Windows)."""
    numbers = [signal.SIGINT, signal.SIGTERM]
    hang_up = getattr(signal, "SIGHUP", None)
    if hang_up is not None and signal.getsignal(hang_up) != signal.SIG_IGN:
        numbers.append(hang_up)
    return numbers
