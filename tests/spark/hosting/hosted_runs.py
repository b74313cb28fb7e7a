"""Runs of `eosfw run --engine spark` as processes that a test freezes, kills and interrupts."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from installation import install
from spark_classes import java_options

WITHIN = 600.0
EXECUTOR = "CoarseGrainedExecutorBackend"
SHORT = {
    "spark.executor.heartbeatInterval": "1s",
    "spark.network.timeout": "20s",
    "spark.network.timeoutInterval": "2s",
    "spark.executor.extraJavaOptions": java_options(),
}
"""Settings with which Spark gives a frozen executor up within seconds, and starts another one as fast as it can."""
WAITING = Path(__file__).with_name("waiting_connector.py")


class HostedRun:
    """One run of a pipeline file; the folder holds the file, the connector and the log."""

    def __init__(self, folder: Path, file: Path, *arguments: str, **conf: str) -> None:
        self._site = folder / "site"
        if not self._site.exists():
            install(self._site, "waiting", "[eosfw]\nwaiting = waiting_connector\n", module=WAITING)
        self._log = folder / f"run-{time.monotonic_ns()}.log"
        self._out = self._log.with_suffix(".json")
        command = [sys.executable, "-c", "import sys; from eosfw.cli import main; main(sys.argv[1:])", "run", str(file)]
        command += ["--engine", "spark", "--json", *arguments]
        tied = ["setpriv", "--pdeathsig", "KILL"] if shutil.which("setpriv") else []
        environment = {**os.environ, "PYTHONPATH": str(self._site)}
        with self._log.open("wb") as log, self._out.open("wb") as out:
            self._process = subprocess.Popen(
                [*tied, *command], stdout=out, stderr=log, env=environment, process_group=0
            )
        self.pid = self._process.pid

    # --- what becomes of it

    def wait(self) -> int:
        """Its exit code."""
        return self._process.wait(WITHIN)

    def summary(self) -> dict[str, Any]:
        """What it printed."""
        found: dict[str, Any] = json.loads(self._out.read_text())
        return found

    def log(self) -> str:
        return self._log.read_text(errors="replace")[-6000:]

    def until(self, condition: Callable[[], object], what: str) -> None:
        """Wait, as long as it runs."""
        deadline = time.monotonic() + WITHIN
        while not condition():
            assert self._process.poll() is None, f"{what} did not come: it ended\n{self.log()}"
            assert time.monotonic() < deadline, f"{what} did not come\n{self.log()}"
            time.sleep(0.05)

    # --- its processes

    def interrupt(self) -> None:
        self._process.send_signal(signal.SIGINT)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait(WITHIN)

    def executors(self) -> set[int]:
        """The JVMs that run tasks, each with Python's daemon and a process of it at least."""
        running = [pid for pid in descendants(self.pid) if EXECUTOR in command_line(pid)]
        return {pid for pid in running if len(descendants(pid)) > 1}

    def close(self) -> None:
        """Kill what is left of it."""
        left = [self.pid, *descendants(self.pid)]
        for pid in left:
            send(pid, signal.SIGKILL)
        self._process.wait(WITHIN)


def send(pid: int, number: signal.Signals) -> None:
    """Send a signal to a process, if it is still there."""
    with suppress(ProcessLookupError):
        os.kill(pid, number)


def descendants(pid: int) -> list[int]:
    """All processes that a process has started, and that these have started."""
    parents = {int(one.name): parent_of(int(one.name)) for one in Path("/proc").iterdir() if one.name.isdecimal()}

    def below(known: int) -> Iterator[int]:
        for child, parent in parents.items():
            if parent == known:
                yield child
                yield from below(child)

    return list(below(pid))


def parent_of(pid: int) -> int | None:
    """The process that started a process; None if it has ended."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except (OSError, IndexError, ValueError):
        return None


def command_line(pid: int) -> str:
    """How a process was started."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""
