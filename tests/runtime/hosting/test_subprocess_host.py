"""The host of processes replaces those that die, gives up in the end, and leaves none behind."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from eosfw.concurrency import ThreadRuntime
from eosfw.errors import EosfwError, TaskFailedError
from eosfw.protocols import TaskJobSpec
from eosfw.runtime.hosting import subprocess_host
from eosfw.runtime.hosting.subprocess_host import SubprocessHostSession, end_text

SECRET = "canary"
PROGRAM = """
import json, os, signal, sys, time
given = json.loads(sys.stdin.readline())
with open("starts", "a") as file:
    print(json.dumps({"attempt": given["attempt"], "task": given["task"], "path": given["path"], "pid": os.getpid(),
        "shown": open("/proc/self/cmdline").read() + open("/proc/self/environ").read()}), file=file)
"""


class Host:
    """A session whose processes run a program of the test instead of a task; their folder is the current one."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._folder = folder
        monkeypatch.chdir(folder)
        monkeypatch.setenv("PYTHONPATH", str(folder))
        monkeypatch.setattr(subprocess_host, "_MAIN", "program")
        monkeypatch.setattr(subprocess_host, "FIRST_PAUSE", 0.001)
        monkeypatch.setattr(subprocess_host, "END_TIMEOUT", 0.01)
        self.session = SubprocessHostSession(ThreadRuntime(), 1.0)
        self._ended = threading.Event()
        self.ends: list[EosfwError | None] = []

    def submit(self, body: str, tasks: Iterable[str] = (SECRET,), committed: Callable[[], int] = lambda: 0) -> None:
        (self._folder / "program.py").write_text(PROGRAM + body)
        self.job = self.session.submit(TaskJobSpec("task c-0", list(tasks), committed=committed), self._on_end)

    def _on_end(self, error: EosfwError | None) -> None:
        self.ends.append(error)
        self._ended.set()

    def end(self) -> EosfwError | None:
        """How the job ended, of which the session says so once."""
        assert self._ended.wait(60)
        self.session.close()
        (error,) = self.ends
        return error

    def starts(self) -> list[dict[str, str]]:
        file = self._folder / "starts"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    def await_starts(self, count: int) -> None:
        runtime = ThreadRuntime()
        while len(self.starts()) < count:
            runtime.sleep(0.01)


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    return Host(tmp_path, monkeypatch)


def test_a_process_that_dies_again_and_again_is_given_up(host: Host) -> None:
    """TXN-20."""
    host.submit("os.kill(os.getpid(), signal.SIGSEGV)")

    error = host.end()
    assert isinstance(error, TaskFailedError)
    assert str(error).startswith("its process ended 5 times in a row, at last by SIGSEGV: ")
    attempts = [start["attempt"] for start in host.starts()]
    assert attempts == sorted(set(attempts)), "a later attempt has a greater number"
    assert len(attempts) == 5


def test_a_process_that_commits_before_it_dies_is_replaced_for_ever(host: Host) -> None:
    host.submit("sys.exit(len(open('starts').readlines()) < 8)", committed=itertools.count().__next__)

    assert host.end() is None
    assert len(host.starts()) == 8


def test_a_process_cannot_be_started_where_there_is_no_python(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    host.submit("")

    assert "at last before it began: [Errno 2]" in str(host.end())


def test_a_job_ends_also_by_an_error_that_nobody_foresaw(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who waits for it, such as a worker that stops, would wait for ever."""

    def no_memory(*_: object, **__: object) -> None:
        raise MemoryError("no more")

    monkeypatch.setattr(subprocess, "Popen", no_memory)
    host.submit("")

    assert str(host.end()).startswith("MemoryError: no more")
    assert host.job.join(60)


def test_when_one_process_of_a_job_is_given_up_the_others_end_with_it(host: Host) -> None:
    host.submit("time.sleep(3600) if given['task'] == 'well' else sys.exit(3)", ["well", "ill"])

    assert "with exit code 3" in str(host.end())


def test_a_process_finds_modules_where_the_run_does_and_gets_secrets_by_stdin_alone(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend("/only/here")
    host.submit("")

    assert host.end() is None
    (start,) = host.starts()
    assert (start["task"], start["path"]) == (SECRET, sys.path)
    assert "program" in start["shown"]
    assert SECRET not in start["shown"]


def test_what_a_process_prints_is_no_output_of_the_run(host: Host, capfd: pytest.CaptureFixture[str]) -> None:
    host.submit("print('from a connector')")

    assert host.end() is None
    assert capfd.readouterr() == ("", "from a connector\n")


def test_a_cancelled_job_leaves_no_process_behind(host: Host) -> None:
    host.submit("time.sleep(3600)", ["one", "two"])
    host.await_starts(2)
    host.job.cancel()

    assert host.end() is None
    for start in host.starts():
        with pytest.raises(ProcessLookupError):
            os.kill(int(start["pid"]), 0)


def test_ctrl_c_for_all_processes_of_a_terminal_ends_no_task() -> None:
    """From its first moment: until it has handlers, a signal waits."""
    with subprocess_host._signals_held_back():
        command = [sys.executable, "-P", "-m", "eosfw.runtime.hosting.task_process_main"]
        process = subprocess.Popen(command, stdin=subprocess.PIPE)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        process.send_signal(number)
    assert process.stdin is not None
    process.stdin.close()  # without a run there is nothing to do

    assert process.wait(60) == 0
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


def test_the_text_of_an_end_says_where_to_look() -> None:
    assert end_text(7) == "with exit code 7: see what it wrote to stderr"
    assert end_text(-signal.SIGABRT).startswith("by SIGABRT: stderr shows where")
    assert end_text(-signal.SIGKILL).startswith("by SIGKILL: if nobody killed it, memory was short")
    assert end_text(-(signal.SIGRTMIN + 1)).startswith("by signal ")
