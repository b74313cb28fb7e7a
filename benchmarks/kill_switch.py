"""The plugin that kills a process of Spark at a step of a micro-batch, many times in one JVM.

`spark_kills.py` installs it for the processes of its query, and tells it through a folder which kill is next.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from enum import Enum
from pathlib import Path
from typing import Any, ClassVar

from eosfw.hookspecs import hookimpl
from eosfw.observe import StepEvent, TaskStep
from pytest_eos.environment.processes.os_processes import java_above

FOLDER_VARIABLE = "SPARK_KILLS_FOLDER"
SHARED = "shared"
"""The mode of a query that writes by `SharedTransactionSink`."""
_METADATA = "Metadata-Version: 2.1\nName: kill-switch\nVersion: 1\n"


class Victim(Enum):
    """Who dies of a kill."""

    PROCESS = "process"
    """The first process that reaches the step: Spark repeats its task, if it is one."""
    EVERY_ATTEMPT = "every attempt"
    """Each process that reaches the step, until Spark gives the query up."""
    EXECUTOR = "executor"
    """The JVM above the first task that reaches the step, and its Python worker."""
    PROGRAM = "program"
    """The first process that reaches the step, which is the one that started the query."""
    DRIVER = "driver"
    """All processes of the driver: the one that reaches the step stands still until the script kills them."""


@dataclass(frozen=True, slots=True)
class Kill:
    """What dies next."""

    number: int
    step: str
    victim: str


class KillFolder:
    """The folder that the script and the processes of its query share."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def arm(self, kill: Kill | None) -> None:
        """Set the next kill, or none."""
        self.write("armed", None if kill is None else asdict(kill))

    def armed(self) -> Kill | None:
        """The next kill."""
        found = self.read("armed")
        return None if found is None else Kill(**found)

    def fire(self, kill: Kill) -> bool:
        """Whether this process is the first that this kill meets."""
        try:
            os.close(os.open(self._fired(kill), os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return False
        return True

    def has_fired(self, kill: Kill) -> bool:
        """Whether it met a process."""
        return self._fired(kill).exists()

    def write(self, name: str, value: Any) -> None:
        """Write a value, whole or not at all."""
        beside = self.path / f"{name}.{os.getpid()}"
        beside.write_text(json.dumps(value), encoding="utf-8")
        beside.rename(self.path / name)

    def read(self, name: str) -> Any:
        """A value, or None."""
        try:
            return json.loads((self.path / name).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None

    def count(self, name: str) -> None:
        """Add one to a number that many processes add to."""
        with (self.path / name).open("ab") as file:
            file.write(b".")

    def counted(self, name: str) -> int:
        """How often one was added."""
        path = self.path / name
        return path.stat().st_size if path.exists() else 0

    def _fired(self, kill: Kill) -> Path:
        return self.path / f"fired-{kill.number}"


class KillSwitch:
    """Kills the process that announces the step of the next kill."""

    name: ClassVar[str] = "kill-switch"

    def __init__(self) -> None:
        self._folder = KillFolder(Path(os.environ[FOLDER_VARIABLE]))

    def observe(self, event: StepEvent) -> None:
        if event.step is TaskStep.COMMITTED_BATCH:
            self._folder.write("committer", os.getpid())
            self._folder.count(f"{event.detail['outcome']}")
        kill = self._folder.armed()
        if kill is not None and event.step.value == kill.step:
            self._kill(kill)

    def _kill(self, kill: Kill) -> None:
        first, victim = self._folder.fire(kill), Victim(kill.victim)
        if victim is Victim.DRIVER and first:
            signal.raise_signal(signal.SIGSTOP)
        if victim is Victim.EXECUTOR and first and (above := java_above(os.getpid())):
            os.kill(above, signal.SIGKILL)
        if first or victim is Victim.EVERY_ATTEMPT:
            os.kill(os.getpid(), signal.SIGKILL)


@hookimpl
def eosfw_observers() -> Iterable[type[KillSwitch]]:
    """Offer the switch to the processes of the query."""
    return [KillSwitch] if FOLDER_VARIABLE in os.environ else []


def install(site: Path) -> str:
    """Make this module a plugin; the value of PYTHONPATH for the processes of the query."""
    info = site / "kill_switch-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(_METADATA)
    (info / "entry_points.txt").write_text("[eosfw]\nkill-switch = kill_switch\n")
    return os.pathsep.join((str(site), str(Path(__file__).parent)))
