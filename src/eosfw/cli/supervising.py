"""Watch over a run from the main thread: Ctrl-C, SIGTERM, a deadline (ruling 16)."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Generic, TypeVar

from eosfw.errors import EosfwError, ExitCode, InterruptedRunError
from eosfw.pipeline.control import Control
from eosfw.waiting import Event, Runtime

T = TypeVar("T")
_LOOK = 0.1
_CLEAN = 15.0
"""How long a clean end may take before producers are closed; the worker's own time to stop lies within."""
_CLOSE = 3.0
"""How long closing may take before the process ends as it is."""


class OvertimeError(EosfwError):
    """A run was not done in the time it was given."""

    exit_code = ExitCode.UNAVAILABLE


@dataclass(slots=True)
class _Outcome(Generic[T]):
    done: Event
    value: T | None = None
    error: BaseException | None = None


@dataclass(slots=True)
class _Signals:
    seen: list[int] = field(default_factory=list)

    def note(self, number: int, frame: FrameType | None) -> None:
        """Remember a signal; everything else happens outside the handler."""
        self.seen.append(number)


def supervised(work: Callable[[Control], T], runtime: Runtime, *, timeout: float | None, stuck: Callable[[], str]) -> T:
    """Do `work` on a thread of its own, so that no blocking call keeps a signal waiting.

    The first signal asks for a clean end, the second closes everything; `timeout` acts like both in turn, and `stuck`
    says what was going on then.
    """
    control = Control(runtime)
    outcome: _Outcome[T] = _Outcome(runtime.event())
    with _listening() as signals:
        runtime.spawn("eosfw-run", lambda: _do(work, control, outcome))
        _watch(outcome, control, signals, timeout, stuck)
        control.check()
    if outcome.error is not None:
        raise outcome.error
    return outcome.value  # type: ignore[return-value]  # set, since there was no error


def _do(work: Callable[[Control], T], control: Control, outcome: _Outcome[T]) -> None:
    try:
        outcome.value = work(control)
    except BaseException as error:  # noqa: BLE001 (raised again by the main thread)
        outcome.error = error
    finally:
        outcome.done.set()


def _watch(
    outcome: _Outcome[T], control: Control, signals: _Signals, timeout: float | None, stuck: Callable[[], str]
) -> None:
    now = control.runtime.now
    begun, asked, heard = now(), None, 0
    while not outcome.done.wait(_LOOK):
        if len(signals.seen) > heard:
            heard = len(signals.seen)
            if control.stopping:
                return _close(outcome, control)
            asked = now()
            _ask(control, InterruptedRunError("interrupted: what was polled is committed, the rest was left alone"))
        elif asked is not None and now() - asked > _CLEAN:
            return _close(outcome, control)
        elif asked is None and timeout is not None and now() - begun > timeout:
            asked = now()
            control.stop(OvertimeError(f"not done within {timeout:g} s\n{stuck()}"))
    if signals.seen and not control.stopping:
        control.stop(InterruptedRunError("interrupted"))
    return None


def _ask(control: Control, reason: EosfwError) -> None:
    print("eosfw: stopping cleanly; once more to stop at once", file=sys.stderr)
    control.stop(reason)


def _close(outcome: _Outcome[T], control: Control) -> None:
    print("eosfw: closing producers; open transactions abort", file=sys.stderr)
    control.runtime.spawn("eosfw-close", control.kill)
    if outcome.done.wait(_CLOSE):
        return
    # Somebody blocks in a call that closing does not end. Its thread cannot be ended, so the process is.
    try:
        control.check()
        code = int(ExitCode.INTERRUPTED)
    except EosfwError as reason:
        print(f"eosfw: {reason}", file=sys.stderr)
        code = int(reason.exit_code)
    sys.stderr.flush()
    os._exit(code)


@contextmanager
def _listening() -> Iterator[_Signals]:
    signals = _Signals()
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, signals.note) for number in numbers]
    try:
        yield signals
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
