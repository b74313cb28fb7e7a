"""One fault of a broker: its rule, and each time it fired."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from eosfw.concurrency import Runtime
from eosfw_memory.common.delayed_operation import Answer, DelayedOperation
from eosfw_memory.faults.matching import Firing, Occurrence
from eosfw_memory.faults.rules import Rule
from eosfw_memory.faults.text import rule_text, status_text


class Fault:
    """One fault of a broker: its rule, and each time it fired."""

    def __init__(self, rule: Rule, runtime: Runtime) -> None:
        self.rule = rule
        self.seen = 0
        """How many requests or points have matched its rule."""
        self.firings: list[Firing] = []
        self.answers: list[Answer | DelayedOperation | None] = []
        """The broker's answer to each copy of a repeated request."""
        self._triggered = runtime.event()
        self._held: list[Callable[[], None]] = []
        self._released = False

    @property
    def fired(self) -> bool:
        """Whether it has happened at least once."""
        return bool(self.firings)

    def await_fired(self, timeout: float) -> Fault:
        """Return once it has fired; raise TimeoutError, with its status, after `timeout` seconds."""
        if not self._triggered.wait(timeout):
            raise TimeoutError(f"{self} within {timeout} s")
        return self

    def release(self) -> None:
        """Deliver the requests it holds, on this thread, and hold no later ones."""
        self._released = True
        self._deliver_held()

    def hold(self, arrive: Callable[[], None]) -> None:
        """Hold a delayed request until the release."""
        self._held.append(arrive)
        if self._released:  # by another thread, since this fault fired
            self._deliver_held()

    def due(self, occurrence: Occurrence) -> bool:
        """Count an occurrence that matches the rule; tell whether the fault happens at this one."""
        if self._released or not occurrence.matches(self.rule):
            return False
        self.seen += 1
        return self.rule.nth <= self.seen < self.rule.nth + self.rule.times

    def trigger(self, occurrence: Occurrence, now_ms: int) -> None:
        """Record that it happens now."""
        self.firings.append(Firing(now_ms, occurrence))
        self._triggered.set()

    def _deliver_held(self) -> None:
        with suppress(IndexError):
            while True:
                self._held.pop(0)()

    def __str__(self) -> str:
        return f"fault {rule_text(self.rule)}: {status_text(self.rule, self.seen, self.firings)}"
