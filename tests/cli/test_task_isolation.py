"""`eosfw run` with `task.isolation=process`: signals, stdout, and what is left behind."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from tests.cli.conftest import ENDLESS, Start

from eosfw.concurrency import ThreadRuntime
from pytest_eos.environment.processes import os_processes

Write = Callable[..., Path]


def isolated(file: Path) -> Path:
    """The pipeline of a file with tasks in processes of their own."""
    file.write_text(file.read_text().replace("[worker]\n", '[worker]\n"task.isolation" = "process"\n'))
    return file


def task_processes(run: int) -> list[int]:
    """The processes that a run has started."""
    found = []
    for one in Path("/proc").iterdir():
        with suppress(OSError, ValueError):  # no process, or it is gone
            if int((one / "stat").read_text().rpartition(")")[2].split()[1]) == run:
                found.append(int(one.name))
    return found


def await_end(pid: int) -> None:
    runtime = ThreadRuntime()
    deadline = runtime.now() + 60
    while os_processes.is_alive(pid):
        assert runtime.now() < deadline, f"process {pid} goes on"
        runtime.sleep(0.02)


def test_ctrl_c_on_a_terminal_commits_what_was_polled_and_json_stays_one_object(start: Start, pipeline: Write) -> None:
    """A terminal sends it to the processes of tasks, too."""
    hour = '"transaction.boundary" = "interval"\n"transaction.boundary.interval.ms" = 3600000'
    running = start("run", "--json", isolated(pipeline("slow", more=f"{ENDLESS}\n{hour}")))
    running.until(lambda: running.polled() > 3)
    (own,) = task_processes(running.process.pid)
    for pid in (own, running.process.pid):
        os.kill(pid, signal.SIGINT)

    assert running.end() == 130
    printed = json.loads(running.out())
    assert printed["error"]["type"] == "InterruptedRunError"
    assert printed["records"] > 3
    assert "Traceback" not in running.err()
    assert "started again" not in running.err()
    assert not os_processes.is_alive(own)


def test_sigkill_of_a_run_leaves_no_process_though_its_task_blocks(start: Start, pipeline: Write) -> None:
    """TXN-20."""
    running = start("run", isolated(pipeline("blocked", graceful_ms=1)))
    running.until(lambda: "the source does not answer" in running.err())
    (own,) = task_processes(running.process.pid)
    running.process.kill()

    await_end(own)
