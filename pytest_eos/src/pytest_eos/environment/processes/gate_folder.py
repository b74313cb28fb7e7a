"""The folder through which a test and the processes of a driver agree on one gate."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from eosfw.observe import StepEvent, event_from_json, event_to_json


@dataclass(frozen=True, slots=True)
class ArmedGate:
    """Where a process stops itself: the nth batch that reaches a step, in a task of this number if one is given."""

    step: str
    nth: int
    task: int | None
    executor: bool
    """Whether the executor stops with its task; otherwise the test stops all processes of the driver."""


class GateFolder:
    """One gate: armed by the test, reached by a process; and the steps that all processes announced."""

    def __init__(self, path: Path) -> None:
        self.path = path

    # --- the test's side

    def arm(self, gate: ArmedGate | None) -> None:
        """Make the folder; without a gate, steps are written down and nothing stops."""
        self.path.mkdir(parents=True)
        if gate is not None:
            self.write("armed", asdict(gate))

    def reached(self) -> tuple[int, ...] | None:
        """The processes that stopped themselves, the one that announced the step last; None before that."""
        found = self.read("reached")
        return None if found is None else tuple(found["pids"])

    def events(self) -> list[StepEvent]:
        """The steps that were announced, oldest first."""
        try:
            lines = (self.path / "steps").read_text(encoding="utf-8").splitlines(keepends=True)
        except FileNotFoundError:
            return []
        return [event_from_json(line) for line in lines if line.endswith("\n")]

    # --- the side of the processes

    def armed(self) -> ArmedGate | None:
        """The gate, if there is one."""
        found = self.read("armed")
        return None if found is None else ArmedGate(**found)

    def keep(self, event: StepEvent) -> None:
        """Add a step to the ones announced; one write, so that lines of several processes do not mix."""
        self._append("steps", event_to_json(event) + "\n")

    def ordinal(self, event: StepEvent) -> int:
        """How many batches have reached the step, with this one; one that has no number yet always counts."""
        key = f"at {event.at}" if event.transaction is None else f"batch {event.transaction}"
        self._append("passed", f"{key}\n")
        passed = (self.path / "passed").read_text(encoding="utf-8").splitlines()
        return list(dict.fromkeys(passed)).index(key) + 1

    def claim(self) -> bool:
        """Whether this process is the one that stops: the first to ask."""
        try:
            os.close(os.open(self.path / "claimed", os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return False
        return True

    def reach(self, pids: list[int]) -> None:
        """Tell the test which processes stop now."""
        self.write("reached", {"pids": pids})

    # --- both

    def read(self, name: str) -> Any:
        """What a process wrote down under a name; None if it has not."""
        try:
            return json.loads((self.path / name).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None

    def write(self, name: str, facts: Any) -> None:
        """Write facts down for the other side, whole or not at all."""
        beside = self.path / f"{name}.{os.getpid()}"
        beside.write_text(json.dumps(facts), encoding="utf-8")
        beside.rename(self.path / name)

    def _append(self, name: str, line: str) -> None:
        file = os.open(self.path / name, os.O_APPEND | os.O_CREAT | os.O_WRONLY)
        try:
            os.write(file, line.encode())
        finally:
            os.close(file)
