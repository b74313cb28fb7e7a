"""A driver of Spark with one streaming query, in processes of its own that are frozen, woken or killed."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

import pytest

from eosfw.observe import Freeze, StepEvent, TaskStep
from pytest_eos.environment.config.markers import EXECUTOR, ZombieSpec
from pytest_eos.environment.config.session_statistics import SessionStatistics
from pytest_eos.environment.processes import os_processes
from pytest_eos.environment.processes.gate_folder import ArmedGate, GateFolder
from pytest_eos.environment.processes.os_processes import FOLDER_VARIABLE, absolute_sys_path
from pytest_eos.runs.groups.worker_group import Waiter
from pytest_eos.runs.groups.worker_harness import WorkerHarness

_GRACE = 20.0
_LOOK = 0.1
_PATIENCE = 300.0
"""Spark takes a minute to start on a busy machine, and a first batch as long again."""
_LOCAL = {"spark.master": "local[2]"}
_EXECUTORS = {
    "spark.master": "local-cluster[2,1,1024]",
    "spark.executor.memory": "768m",
    # Spark never speculates on the host of the first attempt, and both executors are on this one. So the driver misses
    # the heartbeats of the one that stands still, and gives its task to the other.
    "spark.executor.heartbeatInterval": "2s",
    "spark.network.timeout": "20s",
    "spark.network.timeoutInterval": "2s",
}
"""Two executors, each a process of one core: an executor can stand still while its driver and the other one work."""


@dataclass(frozen=True, slots=True)
class QuerySpec:
    """What a driver runs, in plain values."""

    query: str
    """`module:function`, called with the session and `options`; it returns a DataStreamWriter."""
    options: Mapping[str, str]
    checkpoint: str
    settings: Mapping[str, str]


class QueryProcess:
    """A driver with its JVM and its Python workers, all of which stand still or die together."""

    def __init__(self, eos: WorkerHarness, spec: QuerySpec, folder: GateFolder, zombie: ZombieSpec | None) -> None:
        self._eos, self._spec, self._folder, self._zombie = eos, spec, folder, zombie
        self._waiter = Waiter(eos.runtime, max(_PATIENCE, eos.settings.patience))
        self._frozen_at: float | None = None
        self._woken_at: float | None = None
        self.killed = False
        folder.arm(None if zombie is None else _gate(zombie))
        (folder.path / "tmp").mkdir()
        self._stderr = (folder.path / "stderr").open("wb")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "pytest_eos.query_process_main"],
            stdin=subprocess.PIPE,
            stdout=self._stderr,
            stderr=self._stderr,
            text=True,
            env=self._environment(),
            process_group=0,  # Ctrl-C reaches only pytest
        )
        self._tell(json.dumps(asdict(spec)))

    @classmethod
    def start(
        cls, eos: WorkerHarness, query: str, options: Mapping[str, str], checkpoint: Path, zombie: ZombieSpec | None
    ) -> Self:
        """Start a driver; its gate and its temporary files are in a folder of their own."""
        settings = _EXECUTORS if zombie is not None and zombie.who == EXECUTOR else _LOCAL
        base = eos.settings.folder / "drivers"
        number = len(list(base.iterdir())) + 1 if base.is_dir() else 1
        spec = QuerySpec(query, dict(options), str(checkpoint), settings)
        return cls(eos, spec, GateFolder(base / str(number)), zombie)

    @property
    def folder(self) -> Path:
        """The folder of its gate, its temporary files and its standard error."""
        return self._folder.path

    # --- the zombie

    @property
    def rose(self) -> bool:
        """Whether it was frozen, then woken or killed; a driver without a gate has nothing to do."""
        return self._zombie is None or (self._frozen_at is not None and self._woken_at is not None)

    def await_frozen(self) -> QueryProcess:
        """Wait until the step is reached, and all processes concerned stand still."""
        self._waiter.until(lambda: self._has_ended() or self._folder.reached() is not None, str(self), self._state)
        reached = self._folder.reached()
        if reached is None:
            pytest.fail(f"{self.complaint()} {self._state()}", pytrace=False)
        self._waiter.until(lambda: os_processes.has_stopped(reached[-1]), f"SIGSTOP of process {reached[-1]}")
        self._frozen_at = self._eos.runtime.now()
        os_processes.send(signal.SIGSTOP, self._concerned())
        return self

    def wake(self) -> QueryProcess:
        """Continue what was frozen (SIGCONT)."""
        self._woken_at = self._eos.runtime.now()
        os_processes.send(signal.SIGCONT, self._concerned())
        return self

    def await_gone_on(self, grace: float = _GRACE) -> QueryProcess:
        """Wait until what was woken has come to another step or ended: before that it has not tried to do harm.

        Behind some steps there is nothing more to tell; so it is given this many seconds at most.
        """
        runtime, pid = self._eos.runtime, (self._folder.reached() or (0,))[-1]
        deadline = runtime.now() + grace
        while runtime.now() < deadline and os_processes.is_alive(pid) and not self._has_gone_on(pid):
            runtime.sleep(_LOOK)
        return self

    def _has_gone_on(self, pid: int) -> bool:
        woken = self._woken_at or 0.0
        return any(event.at > woken and event.detail.get("pid") == pid for event in self.events())

    def kill(self) -> QueryProcess:
        """Kill what was frozen (SIGKILL): nothing is closed, flushed or aborted."""
        self.killed, self._woken_at = True, self._eos.runtime.now()
        os_processes.send(signal.SIGKILL, self._concerned())
        return self

    def await_ended(self) -> str | None:
        """Wait until the query has ended; return its error, None if it ended by itself."""
        self._waiter.until(self._has_ended, f"the end of the query of {self}", self._state)
        ended = self._folder.read("ended")
        if ended is None:
            return f"the driver died: {self._last_line()}"
        error: str | None = ended["error"]
        return error

    def events(self) -> list[StepEvent]:
        """The steps that its processes announced, oldest first."""
        return self._folder.events()

    @property
    def identity(self) -> tuple[str, str]:
        """Its query and its checkpoint, which its successor has, too."""
        return self._spec.query, self._spec.checkpoint

    def failure(self) -> list[StepEvent]:
        """How it ended after its last step, if with an error: fenced, or failed."""
        error, events = self._error(), self.events()
        if not events or not error:
            return []
        step = TaskStep.FENCED if _is_fencing(error) else TaskStep.FAILED
        last = events[-1]
        wall = max(last.wall, (self._folder.path / "ended").stat().st_mtime)
        detail = {"ended": True, "error": error}
        return [StepEvent(step, last.at + wall - last.wall, wall, last.connector, detail=detail)]

    @property
    def zombie(self) -> ZombieSpec | None:
        """What was asked for; None for a driver that nothing happens to."""
        return self._zombie

    @property
    def fenced(self) -> bool:
        """Whether its producer was fenced: its query ended with that, or found that its batch was published."""
        skipped = [event.detail for event in self.events() if event.detail.get("outcome") == "skipped"]
        found_out = any(detail.get("fencings") for detail in skipped)
        return not self.killed and (found_out or _is_fencing(self._error()))

    @property
    def freeze(self) -> Freeze | None:
        """The step before which it stood still, from when to when; None if it never did."""
        reached = self._folder.reached()
        if reached is None or self._frozen_at is None:
            return None
        # What it announces after it was woken comes later.
        before = [event for event in self.events() if event.at <= self._frozen_at]
        at_gate = next(event for event in reversed(before) if event.detail.get("pid") == reached[-1])
        return Freeze(at_gate, at_gate.at, self._woken_at)

    def _error(self) -> str:
        """Why its query failed; empty if it did not, or has not ended."""
        return (self._folder.read("ended") or {}).get("error") or ""

    # --- the end

    def close(self) -> None:
        """End all of its processes and delete what they left, frozen or not."""
        if self._folder.read("ended") is None:
            os_processes.send(signal.SIGKILL, self._all())
        os_processes.send(signal.SIGCONT, self._all())
        self._tell("done")
        try:
            self._process.wait(_GRACE)
        except subprocess.TimeoutExpired:
            os_processes.send(signal.SIGKILL, self._all())
            self._process.wait(_GRACE)
        self._waiter.until(lambda: not self._all(), f"the end of all processes of {self}", self._kill_rest)
        with suppress(BrokenPipeError):  # it has ended with a line unread
            os_processes.require_pipe(self._process.stdin).close()
        self._stderr.close()
        self._delete_files()

    def count(self, statistics: SessionStatistics) -> None:
        """Add its end to the statistics."""
        if self._zombie is not None and self.rose:
            statistics.zombies += 1
            statistics.killed += self.killed
            statistics.fenced += self.fenced
            statistics.stopped += not self.killed and not self.fenced

    def complaint(self) -> str:
        """The reason why a test with this driver proves nothing."""
        if self._frozen_at is not None:
            return f"the zombie was never woken, nor killed: {self}."
        batches = sorted({str(event.step.value) for event in self.events()})
        nth = 0 if self._zombie is None else self._zombie.nth
        zombie = self._zombie
        in_task = zombie is not None and zombie.step is TaskStep.READ_BATCH and zombie.who == EXECUTOR
        hint = "; a small one is read beside the driver, so also give it prefetchOffsets 0" if in_task else ""
        return (
            f"the zombie never rose: {self} was not seen in {nth} batches (nth={nth}); its steps were: "
            f"{', '.join(batches) or 'none'}. A query needs several batches: give its source "
            f"maxOffsetsPerTrigger{hint}."
        )

    # --- how

    def _concerned(self) -> list[int]:
        """The processes of the zombie: an executor with its task, or all of a driver."""
        if self._zombie is not None and self._zombie.who == EXECUTOR:
            return list(self._folder.reached() or ())
        return self._all()

    def _all(self) -> list[int]:
        return os_processes.with_variable(FOLDER_VARIABLE, str(self._folder.path))

    def _kill_rest(self) -> str:
        os_processes.send(signal.SIGKILL, self._all())
        return f"processes {self._all()} did not end"

    def _has_ended(self) -> bool:
        return self._process.poll() is not None or self._folder.read("ended") is not None

    def _state(self) -> str:
        last = self.events()[-1:]
        ended = self._folder.read("ended")
        parts = [f"its last step was {last[0].step.value}" if last else "it announced no step"]
        parts += [f"the query ended: {ended['error'] or 'drained'}"] if ended is not None else []
        parts += [f"the process said: {line}"] if (line := self._last_line()) else []
        return "; ".join(parts)

    def _last_line(self) -> str:
        lines = (self._folder.path / "stderr").read_text(encoding="utf-8", errors="replace").strip().splitlines()
        return lines[-1] if lines else ""

    def _tell(self, line: str) -> None:
        with suppress(BrokenPipeError, ValueError):  # it has ended, or its pipe was closed then
            os_processes.require_pipe(self._process.stdin).write(line + "\n")
            os_processes.require_pipe(self._process.stdin).flush()

    def _environment(self) -> dict[str, str]:
        own = {FOLDER_VARIABLE: str(self._folder.path), "TMPDIR": str(self._folder.path / "tmp")}
        return {**os.environ, "PYTHONPATH": os.pathsep.join(absolute_sys_path()), **own}

    def _delete_files(self) -> None:
        shutil.rmtree(self._folder.path / "tmp", ignore_errors=True)
        if application := self._folder.read("application"):
            from eosfw_spark.hosting.task_host_session import WorkFolder

            WorkFolder(Path(application["home"]), application["id"]).delete()

    def __str__(self) -> str:
        if self._zombie is None:
            return f"the driver {self._process.pid} of {self._spec.query}"
        return f"the {self._zombie.who} of {self._spec.query} before {self._zombie.step.value}"


def _is_fencing(error: str) -> bool:
    return any(word in error for word in ("fenced", "another driver"))


def _gate(zombie: ZombieSpec) -> ArmedGate:
    return ArmedGate(zombie.step.value, zombie.nth, zombie.task, executor=zombie.who == EXECUTOR)
