"""The program of a worker process that a test stops, continues or kills: `python -m pytest_eos.worker_process_main`."""

from __future__ import annotations

import json
import os
import signal
import sys
from importlib import import_module
from pathlib import Path
from typing import ClassVar

from eosfw.connectors import SourceConnector
from eosfw.errors import ExitCode
from eosfw.observe import StepEvent, TaskStep, event_to_json
from pytest_eos.environment.clusters.cluster import Cluster, runtime
from pytest_eos.harness import EosHarness
from pytest_eos.runs.groups.worker_harness import HarnessSettings
from pytest_eos.runs.worker_process import WorkerProcessSpec

_LOOK = 0.02


class StepWriter:
    """An observer that writes each step to stdout, for the test that started this process."""

    name: ClassVar[str] = "eos-step-writer"

    def observe(self, event: StepEvent) -> None:
        sys.stdout.write(event_to_json(event) + "\n")
        sys.stdout.flush()


class ProcessStopper:
    """An observer that stops its own process, with all threads, at the nth occurrence of a step."""

    name: ClassVar[str] = "eos-process-stopper"

    def __init__(self, step: TaskStep, nth: int) -> None:
        self._step, self._left = step, nth

    def observe(self, event: StepEvent) -> None:
        if event.step is not self._step:
            return
        self._left -= 1
        if self._left == 0:
            # raise() sends the signal to this thread, which stops at once. kill() would send it to the main thread;
            # until that one runs on a busy machine, this thread would continue into the step.
            signal.raise_signal(signal.SIGSTOP)


def work(spec: WorkerProcessSpec) -> ExitCode:
    """Run the connector until it is drained or superseded."""
    connector = imported(spec.connector)
    settings = HarnessSettings(f"process {os.getpid()}", Path(), 0, spec.patience)
    observers = (StepWriter(), ProcessStopper(TaskStep(spec.step), spec.nth))
    with EosHarness(Cluster(spec.bootstrap_servers, properties=spec.client), spec.backend, settings) as eos:
        group = eos.worker(spec.group, observers=observers, **spec.worker)
        run = eos.create_run(connector, spec.properties, name=spec.name, worker=group)
        group.put(run.name, run.properties)
        while not group.worker.status().superseded and not group.worker.drained(spec.patience):
            if failures := group.worker.status().failures:
                for task in failures:
                    sys.stderr.write(f"pytest-eos: task {task.id} failed: {_last_line(task.trace)}\n")
                return ExitCode.VERDICT_FAILED
            eos.runtime.sleep(_LOOK)
        superseded = group.worker.status().superseded
        group.stop()
    return ExitCode.FENCED if superseded else ExitCode.OK


def imported(connector: str) -> type[SourceConnector]:
    """The class that `module:Class` names; exits with status 3 and a line on stderr if there is none."""
    module, _, name = connector.partition(":")
    try:
        found: type[SourceConnector] = getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError, TypeError) as why:
        sys.stderr.write(f"pytest-eos: cannot import connector {connector!r}, to be written as module:Class: {why}\n")
        sys.exit(ExitCode.CONFIGURATION)
    return found


def _last_line(trace: str | None) -> str:
    return (trace or "no reason is known").strip().splitlines()[-1]


def _end_with_the_test() -> None:
    # The test keeps the other end of stdin open and writes nothing more: end of file means that the test has ended.
    if not os.read(sys.stdin.fileno(), 1):
        os._exit(ExitCode.INTERRUPTED)


def main() -> None:
    """Read the specification from stdin, run it, exit with the status that a command would have."""
    given = json.loads(sys.stdin.readline())
    runtime().spawn("eos-orphan-watch", _end_with_the_test)
    sys.exit(work(WorkerProcessSpec(**{**given, "path": tuple(given["path"])})))


if __name__ == "__main__":
    main()
