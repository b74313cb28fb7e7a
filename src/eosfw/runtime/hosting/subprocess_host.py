"""The host of tasks that are processes of this machine (`task.isolation=process`)."""

from __future__ import annotations

import itertools
import json
import logging
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Final

from eosfw.concurrency import Runtime
from eosfw.errors import EosfwError, TaskFailedError, described
from eosfw.protocols import TaskJobSpec

logger = logging.getLogger(__name__)

MOST_FAILURES: Final = 5
"""How often in a row the process of a task dies without progress, before the task has failed."""
HEALTHY: Final = 60.0
"""Seconds after which a process that ran so long counts as healthy, though its source had nothing to commit."""
FIRST_PAUSE: Final = 0.2
"""Seconds before a process is replaced for the first time, then twice as many: all pauses together take 3 s."""
END_TIMEOUT: Final = 2.0
"""Seconds that a process gets to end by itself once nobody needs it: its task has ended then, or was killed."""
HELD_BACK: Final = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
"""Signals that a terminal or a supervisor sends to each process of a run, though the worker alone decides."""
_MAIN: Final = "eosfw.runtime.hosting.task_process_main"


class SubprocessHostSession:
    """The `TaskHostSession` that starts a Python process for each task on this machine; thread-safe."""

    address = bind_address = "127.0.0.1"

    def __init__(self, runtime: Runtime, graceful_timeout: float) -> None:
        self._runtime, self._graceful_timeout = runtime, graceful_timeout
        self._attempts = itertools.count()
        self._lock = runtime.lock()
        self._jobs: list[SubprocessJob] = []

    def submit(self, job: TaskJobSpec, on_end: Callable[[EosfwError | None], None]) -> SubprocessJob:
        made = SubprocessJob(self._runtime, job, self._given, on_end)
        with self._lock:
            self._jobs = [one for one in self._jobs if not one.join(0)] + [made]
        made.start()
        return made

    def _given(self, task: str) -> bytes:
        """What a new process reads first. It finds modules where this one does, as those of `multiprocessing` do."""
        values = {"task": task, "attempt": next(self._attempts), "graceful_timeout": self._graceful_timeout}
        return json.dumps({**values, "path": sys.path}).encode() + b"\n"

    def close(self) -> None:
        with self._lock:
            jobs, self._jobs = self._jobs, []
        for job in jobs:
            job.cancel()
        for job in jobs:
            job.join()


class SubprocessJob:
    """The `TaskJob` of processes, each of which is replaced when it dies; thread-safe.

    Nothing is repeated or lost by that: each process initialises its task's transactional id, which fences whoever had
    it, and then reads the offsets.
    """

    def __init__(
        self,
        runtime: Runtime,
        spec: TaskJobSpec,
        given: Callable[[str], bytes],
        on_end: Callable[[EosfwError | None], None],
    ) -> None:
        self._runtime, self._spec, self._given, self._on_end = runtime, spec, given, on_end
        self._cancelled, self._ended = runtime.event(), runtime.event()
        self._lock = runtime.lock()
        self._processes: set[subprocess.Popen[bytes]] = set()
        self._left = len(spec.tasks)
        self._error: EosfwError | None = None

    def start(self) -> None:
        """Start every process, each watched by a thread."""
        for number, task in enumerate(self._spec.tasks):
            self._runtime.spawn(f"eosfw-process-{number} of {self._spec.name}", partial(self._watch, task))

    def join(self, timeout: float | None = None) -> bool:
        """Wait until no process is left; return whether that is so."""
        return self._ended.wait(timeout)

    def cancel(self) -> None:
        self._cancelled.set()
        with self._lock:
            running = list(self._processes)
        for process in running:
            self._runtime.spawn("eosfw-process-end", partial(_end, process))

    def _watch(self, task: str) -> None:
        try:
            self._run_until_done(task)
        except Exception as error:  # noqa: BLE001 whatever it is, who waits for the job must hear of its end
            self._error = error if isinstance(error, EosfwError) else TaskFailedError(described(error))
            self.cancel()
        with self._lock:
            self._left -= 1
            last = not self._left
        if last:
            self._on_end(self._error)
            self._ended.set()

    def _run_until_done(self, task: str) -> None:
        failures, now = 0, self._runtime.now
        while not self._cancelled.is_set():
            begun, committed = now(), self._spec.committed()
            end = self._run(task)
            if end is None or self._cancelled.is_set():
                return
            healthy = now() - begun > HEALTHY or self._spec.committed() > committed
            failures = 1 if healthy else failures + 1
            if failures == MOST_FAILURES:
                raise TaskFailedError(f"its process ended {failures} times in a row, at last {end}")
            logger.warning("%s is started again: its process ended %s", self._spec.name, end)
            self._cancelled.wait(FIRST_PAUSE * 2 ** (failures - 1))

    def _run(self, task: str) -> str | None:
        """Run one process to its end; None if it has done its work, else how it ended."""
        try:
            with _signals_held_back():
                # -P: the folder in which the run stands must not hide modules of Python's. What a connector prints is
                # no result of the run, so it goes where this process writes its log.
                process = subprocess.Popen([sys.executable, "-P", "-m", _MAIN], stdin=subprocess.PIPE, stdout=2)
        except OSError as why:
            return f"before it began: {why}"
        with self._lock:
            self._processes.add(process)
        if self._cancelled.is_set():  # `cancel` may not have seen it
            process.kill()
        code = _run_with(process, self._given(task))
        with self._lock:
            self._processes.discard(process)
        return None if code == 0 else end_text(code)


def _run_with(process: subprocess.Popen[bytes], given: bytes) -> int:
    """The exit code of a process, which is given what it needs by its stdin: other users see arguments, and maybe more.

    The pipe stays open, and so tells the process when this one is gone.
    """
    stdin = process.stdin
    assert stdin is not None
    with suppress(BrokenPipeError):  # it is dead already
        stdin.write(given)
        stdin.flush()
    code = process.wait()
    with suppress(BrokenPipeError):
        stdin.close()
    return code


def _end(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(END_TIMEOUT)
    except subprocess.TimeoutExpired:
        process.kill()


@contextmanager
def _signals_held_back() -> Iterator[None]:
    """Have a process that is started meanwhile begin with these signals blocked, until it has handlers for them.

    It stays in the process group of the run, other than with a session of its own: Ctrl-Z stops all of them.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, HELD_BACK)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def end_text(code: int) -> str:
    """How a process ended, and where to look."""
    if code >= 0:
        return f"with exit code {code}: see what it wrote to stderr"
    if code == -getattr(signal, "SIGKILL", 9):
        return "by SIGKILL: if nobody killed it, memory was short, which the log of the kernel says"
    name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
    return f"by {name}: stderr shows where in Python, and a library in native code may be at fault"
