"""The demo as a command in a process of its own, and what it may leave behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MARK = "EOSFW_DEMO_TEST"
FLIGHTS = 336_776
MAIN = "from eosfw.cli import main; main()"


@dataclass(frozen=True, slots=True)
class Ended:
    """A completed run of the demo."""

    code: int
    stdout: str
    stderr: str
    mark: str
    scratch: Path

    @property
    def summary(self) -> dict[str, Any]:
        """The whole of stdout as one JSON object."""
        found: dict[str, Any] = json.loads(self.stdout)
        return found

    def survivors(self) -> list[str]:
        """Processes that still carry the run's mark in their environment."""
        mark = f"{MARK}={self.mark}".encode()
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                if mark in (process / "environ").read_bytes():
                    found.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode())
            except OSError:  # it ended, or is not ours to look at
                continue
        return found


class Demo:
    """Runs `eosfw demo` in a process of its own, with a folder of its own and one for temporary files."""

    def __init__(self, folder: Path, scratch: Path) -> None:
        self._folder, self._scratch = folder, scratch

    def __call__(
        self,
        *arguments: str,
        interrupted_at: str | None = None,
        before: Callable[[str], None] = lambda _: None,
        **environment: str,
    ) -> Ended:
        """Run it to its end, or interrupt it, as Ctrl-C does, once it says that.

        `before` is called with what it said so far, before it is interrupted.
        """
        mark = uuid.uuid4().hex
        surroundings = {**os.environ, MARK: mark, "TMPDIR": str(self._scratch), **environment}
        command = [sys.executable, "-c", MAIN, "demo", "--output", str(self._folder / "out"), *arguments]
        with subprocess.Popen(
            command,
            env=surroundings,
            cwd=self._folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        ) as process:
            said = ""
            while interrupted_at is not None and interrupted_at not in said and process.stderr is not None:
                line = process.stderr.readline()
                assert line, f"it ended before: {said}"
                said += line
            if interrupted_at is not None:
                before(said)
                os.killpg(process.pid, signal.SIGINT)
            stdout, stderr = process.communicate()
        return Ended(process.returncode, stdout, said + stderr, mark, self._scratch)


def assert_nothing_is_left(ended: Ended) -> None:
    assert not ended.survivors()
    # The wheel of PostgreSQL keeps the file of its lock.
    assert not [path for path in ended.scratch.iterdir() if path.name != ".lockfile"]
