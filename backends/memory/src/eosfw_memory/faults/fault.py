"""One fault of a broker: what was asked for, whether it struck, whom."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from eosfw.concurrency import Runtime
from eosfw_memory.delayed_operation import Answer, DelayedOperation
from eosfw_memory.faults.matching import Firing, Occurrence
from eosfw_memory.faults.rules import Rule
from eosfw_memory.faults.text import rule_text, status_text


class Fault:
    """One fault of a broker: what was asked for, whether it happened, to whom."""

    def __init__(self, rule: Rule, runtime: Runtime) -> None:
        self.rule = rule
        self.seen = 0
        """How many requests, or points, of its kind came by."""
        self.firings: list[Firing] = []
        self.answers: list[Answer | DelayedOperation | None] = []
        """What the broker answered to each copy of a repeated request."""
        self._triggered = runtime.event()
        self._held: list[Callable[[], None]] = []
        self._released = False

    @property
    def fired(self) -> bool:
        """Whether it struck."""
        return bool(self.firings)

    def await_fired(self, timeout: float) -> Fault:
        """Return once it struck; raise TimeoutError, saying what came by, if that takes more than `timeout` seconds."""
        if not self._triggered.wait(timeout):
            raise TimeoutError(f"{self} within {timeout} s")
        return self

    def release(self) -> None:
        """Let delayed requests arrive now, on this thread; those that it meets later are not held up any more."""
        self._released = True
        self._let_go()

    def hold(self, arrive: Callable[[], None]) -> None:
        """Keep a delayed request until the release."""
        self._held.append(arrive)
        if self._released:  # since it struck, on another thread
            self._let_go()

    def due(self, occurrence: Occurrence) -> bool:
        """Count a scene of its kind; whether it is the turn of this one."""
        if self._released or not occurrence.matches(self.rule):
            return False
        self.seen += 1
        return self.rule.nth <= self.seen < self.rule.nth + self.rule.times

    def trigger(self, occurrence: Occurrence, now_ms: int) -> None:
        """Take note that it happens now."""
        self.firings.append(Firing(now_ms, occurrence))
        self._triggered.set()

    def _let_go(self) -> None:
        with suppress(IndexError):
            while True:
                self._held.pop(0)()

    def __str__(self) -> str:
        return f"fault {rule_text(self.rule)}: {status_text(self.rule, self.seen, self.firings)}"
