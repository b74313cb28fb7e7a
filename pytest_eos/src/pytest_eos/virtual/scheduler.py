"""The scheduler of greenlets on one thread in virtual time."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from heapq import heappop, heappush
from itertools import count
from math import inf
from typing import Any, NamedTuple

from greenlet import GreenletExit, getcurrent, greenlet

from pytest_eos.virtual.stack_frames import location_of

TICK = 1e-5
"""Virtual seconds that pass at every reading of the clock, about the time of the work between two readings. So no two
events have the same time, and a greenlet that never blocks uses up its turn."""
_START = 1.0
_OVER = "the virtual clock has stopped: nobody can wait or be started on it any more"
_TURN = 50 * TICK
"""The longest turn of a participant that does not block while others are ready."""
_PREEMPT = 0.25
"""The probability that a participant which could continue yields to another one."""


class DeadlockError(RuntimeError):
    """Every participant waits for something that cannot happen any more."""


class Process:
    """A process of a simulated system: its participants stand still, or end, together."""

    __slots__ = ("ended", "name", "points", "stop_at", "strike", "suspended")

    def __init__(self, name: str) -> None:
        self.name = name
        self.suspended = self.ended = False
        self.points = 0
        """How many yield points its participants have passed: calls at which another participant may go on."""
        self.stop_at: float = inf
        """The yield point at which `strike` is called."""
        self.strike: Callable[[], None] = _nothing
        """What happens at that yield point; it must not yield itself."""

    @property
    def stands(self) -> bool:
        """Whether its participants do not go on."""
        return self.suspended or self.ended


def _nothing() -> None:
    """Nothing happens."""


class Participant:
    """A greenlet: the test itself, or one that it spawned."""

    __slots__ = (
        "borrowed",
        "deadlock",
        "ended",
        "joiners",
        "name",
        "process",
        "thread",
        "timer",
        "waits_for",
        "woken",
    )

    def __init__(self, name: str, thread: Any = None, process: Process | None = None) -> None:
        self.name, self.thread, self.process = name, thread, process
        self.borrowed = 0
        """How many locks of other processes it holds; until it gives them back its process cannot stop it."""
        self.waits_for: object | None = None
        """What it waits for; None while it can run."""
        self.timer: _Timer | None = None
        self.woken = False
        """Whether its wait ended by `wake`, not by the timeout."""
        self.deadlock: DeadlockError | None = None
        """The error that ends its wait."""
        self.ended = False
        self.joiners: list[Participant] = []
        """The participants that wait for its end."""


class _Timer(NamedTuple):
    due: float
    number: int
    participant: Participant

    @property
    def over(self) -> bool:
        """Whether the wait of this timer has ended already."""
        return self.participant.timer is not self


class Scheduler:
    """The participants of one test: one runs at a time, until it blocks or yields.

    Without a seed they run in the order in which they became ready; a turn ends when its participant blocks, or when
    the turn has lasted too long.
    """

    def __init__(self, seed: int | str | None, patience: float) -> None:
        self._random = random.Random(seed) if seed else None  # noqa: S311 - repeatable on purpose, no secret
        self._patience = patience
        self.now = _START
        self.current = self.main = Participant("the test", getcurrent())
        self._spawned: list[Participant] = []
        self._ready: list[Participant] = []
        self._timers: list[_Timer] = []
        self._numbers = count()
        self._turn_ends = self.now + _TURN
        self._patient_until = inf
        """The end of the patience while the test waits without a timeout."""
        self._closing = False
        self._standing: set[Process] = set()
        self.on_turn: Callable[[str, float], None] | None = None
        """Is told who goes on, and when, at every turn."""

    # --- what primitives call

    def spawn(self, name: str, target: Callable[[], None], process: Process | None = None) -> Participant:
        """Add a participant that runs `target`."""
        if self._closing:
            raise RuntimeError(_OVER)
        self._refuse_unknown_threads()
        made = Participant(name, process=process)
        # The parent of each greenlet is the test: when one ends, greenlet switches there, and the test switches on.
        made.thread = greenlet(lambda: self._run(made, target), self.main.thread)
        self._spawned.append(made)
        self._ready.append(made)
        self.yield_turn()
        return made

    def yield_turn(self) -> None:
        """Let another ready participant run first, if the turn is over or the seed says so."""
        if self._closing:
            return
        self._refuse_unknown_threads()
        if (process := self.current.process) is not None:
            self._pass_point(process)
            if process.stands and not self.current.borrowed:
                participant = self.current
                self._ready.append(participant)
                self._switch(participant)
                return
        over = self.now >= self._turn_ends
        if over:
            self._release_due()
        if self._ready and (over or (self._random is not None and self._random.random() < _PREEMPT)):
            participant = self.current
            self._ready.append(participant)
            self._switch(participant)

    def wait(self, what: object, timeout: float | None = None) -> bool:
        """Block the caller until it is woken; False if `timeout` virtual seconds passed before that.

        DeadlockError if it can never be woken, or if the test itself was not within its patience.
        """
        participant = self.current
        if self._closing:
            raise RuntimeError(_OVER) if participant is self.main else GreenletExit
        self._refuse_unknown_threads()
        if participant.process is not None:
            self._pass_point(participant.process)
        participant.waits_for, participant.woken, participant.deadlock = what, False, None
        if timeout is not None:
            participant.timer = _Timer(self.now + max(0.0, timeout), next(self._numbers), participant)
            heappush(self._timers, participant.timer)
        elif participant is self.main:
            self._patient_until = self.now + self._patience
        self._switch(participant)
        if participant.deadlock is not None:
            raise participant.deadlock
        return participant.woken

    def wake(self, participant: Participant) -> None:
        """Make a waiting participant ready."""
        if participant.waits_for is not None:
            self._release(participant, woken=True)

    def suspend(self, process: Process) -> None:
        """Let no participant of a process go on, until `resume`; one that holds locks of others gives them back first.

        Does not yield.
        """
        process.suspended = True
        self._standing.add(process)

    def resume(self, process: Process) -> None:
        """Let the participants of a suspended process go on."""
        process.suspended = False
        if not process.ended:
            self._standing.discard(process)

    def end(self, process: Process) -> None:
        """Let no participant of a process ever go on again, as if it had been killed. Does not yield."""
        process.ended = True
        self._standing.add(process)

    def close(self) -> list[str]:
        """End all participants but the test; return the names of those that still ran in no process that had ended."""
        self._closing = True
        left = [one for one in self._spawned if not one.ended]
        with _silence():
            for one in left:
                self.current = one
                # No `except Exception` of the code under test catches it: it is a BaseException.
                one.thread.throw(GreenletExit)
                one.ended = True
        self.current = self.main
        self._ready.clear()
        self._timers.clear()
        self._spawned.clear()
        return [one.name for one in left if one.process is None or not one.process.ended]

    # --- passing the turn

    def _refuse_unknown_threads(self) -> None:
        """Before anything is changed: else the participant that runs would be ready a second time."""
        if getcurrent() is not self.current.thread:
            raise RuntimeError(
                "a virtual clock was asked to wait by a thread it does not know: a test whose connector has threads "
                'of its own needs the real clock, @pytest.mark.eos_clock("real")'
            )

    def _run(self, participant: Participant, target: Callable[[], None]) -> None:
        try:
            target()
        finally:
            participant.ended = True
            for one in participant.joiners:
                self.wake(one)

    def _switch(self, participant: Participant) -> None:
        """Run other participants until it is the caller's turn again."""
        try:
            while (chosen := self._choose()) is not participant:
                self.current = chosen
                chosen.thread.switch()
                if self.current is participant:
                    return
                # A greenlet has ended and control came back to its parent, the test; choose again.
        except BaseException:
            self._unwind(participant)
            raise
        self.current = participant

    def _pass_point(self, process: Process) -> None:
        process.points += 1
        if process.points >= process.stop_at:
            process.stop_at = inf
            process.strike()

    def _choose(self) -> Participant:
        self._release_due()
        while not (ready := self._able()):
            self._advance_clock()
        self._turn_ends = self.now + _TURN
        at = 0 if self._random is None or len(ready) == 1 else int(self._random.random() * len(ready))
        chosen = ready[at]
        self._ready.remove(chosen)
        if self.on_turn is not None:
            self.on_turn(chosen.name, self.now)
        return chosen

    def _able(self) -> list[Participant]:
        """The ready participants whose processes do not stand still."""
        if not self._standing:
            return self._ready
        return [one for one in self._ready if one.process is None or one.borrowed or not one.process.stands]

    def _release_due(self) -> None:
        """Make the participants ready whose timers are due."""
        timers = self._timers
        while timers and (timers[0].due <= self.now or timers[0].over):
            timer = heappop(timers)
            # A wait that ended before its timeout leaves its timer in the heap.
            if not timer.over:
                self._release(timer.participant, woken=False)
        if self.now > self._patient_until:
            self._fail_main(self._waited_too_long())

    def _advance_clock(self) -> None:
        """Advance the clock to the next timer; called when no participant is ready."""
        timers = self._timers
        if not timers:
            self._fail_main("deadlock: nobody can run, and no timer is set")
        elif timers[0].due > self._patient_until:
            self._fail_main(self._waited_too_long())
        else:
            self.now = max(self.now, timers[0].due)
            self._release_due()

    def _waited_too_long(self) -> str:
        return f"the test waited {self._patience:g} virtual seconds in vain for {self.main.waits_for}"

    def _fail_main(self, deadlock: str) -> None:
        self.main.deadlock = DeadlockError(self._describe(deadlock))
        self._release(self.main, woken=False)

    def _release(self, participant: Participant, *, woken: bool) -> None:
        participant.waits_for, participant.timer, participant.woken = None, None, woken
        if participant is self.main:
            self._patient_until = inf
        self._ready.append(participant)

    def _unwind(self, participant: Participant) -> None:
        participant.waits_for = participant.timer = None
        self._patient_until = inf
        self._ready = [one for one in self._ready if one is not participant]
        self.current = participant

    def _describe(self, what: str) -> str:
        participants = [one for one in (self.main, *self._spawned) if not one.ended]
        lines = [f"  {one.name}: {_activity(one)}" for one in participants]
        return "\n".join([f"{what}, at {self.now:.3f} s of the virtual clock. Who does what:", *lines])


@contextmanager
def _silence() -> Iterator[None]:
    """Log nothing: what ends only because the test is over has no error that anybody should read."""
    before = logging.root.manager.disable
    logging.disable()
    try:
        yield
    finally:
        logging.disable(before)


def _activity(one: Participant) -> str:
    where = location_of(one.thread)
    what = "is ready" if one.waits_for is None else f"waits for {one.waits_for}"
    return f"{what}{where}"
