"""A worker in a process of its own that is stopped, continued or killed by signals."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from importlib import import_module
from typing import Any, Self

import pytest

from eosfw.connectors import SourceConnector
from eosfw.observe import Freeze, History, TaskStep, event_from_json
from eosfw.records import SourceRecord
from pytest_eos.environment.config.markers import ZombieSpec
from pytest_eos.environment.config.session_statistics import SessionStatistics
from pytest_eos.environment.processes.os_processes import absolute_sys_path, require_pipe
from pytest_eos.runs.groups.worker_group import as_texts
from pytest_eos.runs.run_harness import RunHarness

_GRACE = 10.0


@dataclass(frozen=True, slots=True)
class WorkerProcessSpec:
    """What a worker process runs, in plain values."""

    backend: str
    bootstrap_servers: str
    client: Mapping[str, str] = field(repr=False)
    """What a client of the cluster needs besides."""
    group: str
    connector: str
    """`module:Class`."""
    name: str
    properties: Mapping[str, str]
    worker: Mapping[str, Any]
    step: str
    nth: int
    path: tuple[str, ...]
    """The import path of the process."""
    patience: float


class WorkerProcess:
    """A worker in another process that stops itself (SIGSTOP) before a step."""

    def __init__(self, eos: RunHarness, spec: WorkerProcessSpec, process: subprocess.Popen[str]) -> None:
        self._eos, self._spec, self._process = eos, spec, process
        self.group, self.name = spec.group, spec.name
        self.pid = process.pid
        self.history = History(eos.runtime)
        """The steps that the process reported."""
        self._frozen = self._moved = self.killed = False
        self._woken_at: float | None = None
        self._reader = eos.runtime.spawn(f"eos-process-{self.pid}", self._read_events)

    @classmethod
    def start(
        cls,
        eos: RunHarness,
        connector: str,
        properties: Mapping[str, object],
        at: ZombieSpec,
        group: str | None,
        worker: Mapping[str, object],
    ) -> Self:
        """Start the process, which puts the connector at once."""
        spec = WorkerProcessSpec(
            eos.backend_name,
            eos.cluster.bootstrap_servers,
            dict(eos.cluster.properties),
            group or eos.fresh_group(),
            connector,
            eos.default_connector_name(connector),
            as_texts({"eosfw.identity": "headers", **properties}),
            as_texts(worker),
            at.step.value,
            at.nth,
            absolute_sys_path(),
            eos.settings.patience,
        )
        command = [sys.executable, "-m", "pytest_eos.worker_process_main"]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(spec.path)}
        pipe = subprocess.PIPE
        # A process group of its own: Ctrl-C reaches only pytest. If pytest dies, the kernel sends SIGHUP and SIGCONT to
        # an orphaned group with stopped processes, which ends them.
        process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, text=True, encoding="utf-8", env=environment, process_group=0
        )
        require_pipe(process.stdin).write(json.dumps(asdict(spec)) + "\n")
        require_pipe(process.stdin).flush()
        return cls(eos, spec, process)

    @property
    def connector(self) -> str:
        """Its connector, as `module:Class`."""
        return self._spec.connector

    @property
    def step(self) -> str:
        """The name of the step before which it stops itself."""
        return self._spec.step

    @property
    def _connector(self) -> type[SourceConnector]:
        module, _, name = self._spec.connector.partition(":")
        found: type[SourceConnector] = getattr(import_module(module), name)
        return found

    @property
    def rose(self) -> bool:
        """Whether it was frozen, then woken or killed."""
        return self._frozen and self._moved

    def await_frozen(self) -> WorkerProcess:
        """Wait until the process has stopped before the step."""
        self._eos.waiter.until(lambda: self._process.poll() is not None or self._stopped(), str(self))
        if self._process.poll() is not None:
            self._reader.join(_GRACE)
            pytest.fail(f"{self.complaint()} {self._exit_description()}", pytrace=False)
        self._frozen = True
        return self

    def _exit_description(self) -> str:
        events = self.history.events()
        last = f" after its step {events[-1].step.value}" if events else ", before any step"
        return f"The process ended with status {self._process.returncode}{last}."

    def source_records(self) -> list[SourceRecord]:
        """The records expected up to the committed source offsets, of it and of all successors."""
        worker = self._eos.worker(self.group, **self._spec.worker)
        run = self._eos.create_run(self._connector, self._spec.properties, name=self.name, worker=worker)
        worker.connectors[self.name] = run.properties
        return run.source_records()

    def wake(self) -> WorkerProcess:
        """Continue the process (SIGCONT)."""
        self._moved = True
        self._woken_at = self._eos.runtime.now()
        os.kill(self.pid, signal.SIGCONT)
        return self

    def kill(self) -> WorkerProcess:
        """Kill the process (SIGKILL): nothing is closed or flushed."""
        self._moved = self.killed = True
        self._process.kill()
        self._process.wait(_GRACE)
        return self

    def await_end(self) -> int:
        """Wait until the process has ended by itself; return its exit status, which is 5 if it was superseded."""
        self._eos.waiter.until(lambda: self._process.poll() is not None, f"the end of {self}")
        self._reader.join(_GRACE)
        return int(self._process.returncode)

    @property
    def fenced(self) -> bool:
        """Whether one of its tasks met a fencing error."""
        return any(event.step is TaskStep.FENCED for event in self.history.events())

    @property
    def freezes(self) -> list[Freeze]:
        """Its tasks while the process was stopped, each before the step that it had reported last."""
        last = {
            event.task: event
            for event in self.history.events()
            if event.task is not None and (self._woken_at is None or event.at < self._woken_at)
        }
        if not self._frozen or not last:
            return []
        since = max(event.at for event in last.values())
        return [Freeze(event, since, self._woken_at) for event in last.values()]

    def count(self, statistics: SessionStatistics) -> None:
        """Add its end to the statistics; called after `close`."""
        if self.rose:
            statistics.zombies += 1
            statistics.killed += self.killed
            statistics.fenced += self.fenced and not self.killed
            statistics.stopped += not self.fenced and not self.killed

    def complaint(self) -> str:
        """The reason why a test with this process proves nothing."""
        if self._frozen:
            return f"the zombie was never woken, nor killed: {self}."
        again = f" for the {self._spec.nth}. time (nth={self._spec.nth})" if self._spec.nth > 1 else ""
        return f"the zombie never rose: {self} was not seen frozen there{again}."

    def close(self) -> None:
        """Kill the process if it still runs, and close its pipes."""
        self._process.kill()
        self._process.wait(_GRACE)
        self._reader.join(_GRACE)
        for pipe in (self._process.stdin, self._process.stdout):
            require_pipe(pipe).close()

    def _stopped(self) -> bool:
        pid, status = os.waitpid(self.pid, os.WNOHANG | os.WUNTRACED)
        if pid and not os.WIFSTOPPED(status):
            # It has ended since the last look, and the system tells a status once.
            self._process.returncode = os.waitstatus_to_exitcode(status)
        return bool(pid) and os.WIFSTOPPED(status)

    def _read_events(self) -> None:
        for line in require_pipe(self._process.stdout):
            if line.startswith("{"):
                event = event_from_json(line)
                self.history.observe(event)
                self._eos.history.observe(event)

    def __str__(self) -> str:
        return f"process {self.pid} of group {self.group} before {self._spec.step}"
