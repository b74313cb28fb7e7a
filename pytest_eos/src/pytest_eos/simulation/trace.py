"""The trace of a simulated run, and its hash."""

from __future__ import annotations

from hashlib import blake2b
from typing import ClassVar

from eosfw.observe import StepEvent


class Trace:
    """Everything that happened in order: turns of greenlets, steps of tasks and leaders, faults.

    Two runs of one seed have the same hash. `lines` is kept on request, to find where two runs part.
    """

    name: ClassVar[str] = "trace"

    def __init__(self, *, keep: bool = False) -> None:
        self.events = 0
        self.lines: list[str] | None = [] if keep else None
        self._hash = blake2b(digest_size=16)

    def on_turn(self, name: str, now: float) -> None:
        """A greenlet goes on."""
        self._add(f"{now:.5f} {name}")

    def observe(self, event: StepEvent) -> None:
        """A task or a leader comes to a step."""
        whom = event.task or event.connector
        self._add(f"{event.at:.5f} {event.step.value} {whom} {event.generation} {event.transaction}")

    def on_fault(self, number: int, now: float) -> None:
        """A fault of the plan strikes."""
        self._add(f"{now:.5f} fault {number}")

    @property
    def digest(self) -> str:
        """The hash of all that happened so far."""
        return self._hash.hexdigest()

    def _add(self, line: str) -> None:
        self.events += 1
        self._hash.update(line.encode())
        if self.lines is not None:
            self.lines.append(line)
