"""Run a page's commands in a shell and compare the output with the page."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tests.child_pytest import WITHOUT_PLUGINS

HOME = "/home/me"
"""How pages write the folder that a reader works in."""
LIMIT = 600.0
"""Seconds after which a command counts as one that never ends."""
_DOCUMENT = re.compile(r"[^\n]*<<'(\w+)'\n.*?^\1$", re.DOTALL | re.MULTILINE)
_ECHO_STATUS = "echo $?"
# With CI or BUILD_NUMBER set pytest says more than it does to a reader.
_FOREIGN = ("PYTEST_", "EOS_", "VIRTUAL_ENV", "COV_", "CI", "BUILD_NUMBER")
_VARIES = (
    # From a minute on pytest says it twice.
    (re.compile(r"\b\d+\.\d+ ?s\b(?: \(\d+:\d\d:\d\d\))?"), "N s"),
    (re.compile(r"127\.0\.0\.1:\d+"), "HOST:PORT"),
    (re.compile(r"seed=\d+"), "seed=N"),
    (re.compile(r"={3,}"), "==="),
    (re.compile(r"-{4,}"), "----"),
    (re.compile(r" *\t *| {3,}"), "  "),
)


@dataclass(frozen=True, slots=True)
class Typed:
    """A command behind a `$`, and the lines that the page shows under it."""

    command: str
    shown: str


def typed(block: str) -> Iterator[Typed]:
    """The commands of a console block; one may go on behind a backslash, or hold a document (`<<'END'`)."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        document = _DOCUMENT.match(part)
        command, shown = (document[0], part[document.end() :]) if document else _line(part)
        yield Typed(command.strip(), shown.strip("\n"))


def _line(part: str) -> tuple[str, str]:
    command, _, shown = re.sub(r"\\\n\s*", "", part).partition("\n")
    return command, shown


def agrees(shown: str, message: str) -> bool:
    """Whether an answer is the one shown: `...` stands for anything; times, ports, ruled lines vary."""
    pattern = re.escape(_steady(shown)).replace(re.escape("..."), ".*?")
    return re.fullmatch(pattern, _steady(message), re.DOTALL) is not None


def _steady(text: str) -> str:
    for varying, name in _VARIES:
        text = varying.sub(name, text)
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


class Terminal:
    """A shell in a folder of its own; what it started in the background ends with it."""

    def __init__(self, folder: Path, environment: Mapping[str, str] | None = None) -> None:
        self._home = self._folder = folder
        own = {name: value for name, value in os.environ.items() if not name.startswith(_FOREIGN)}
        path = f"{Path(sys.executable).parent}{os.pathsep}{own.get('PATH', '')}"
        self.environment = {**own, "PATH": path, "COLUMNS": "100", "NO_COLOR": "1"}
        self.environment |= {"PYTEST_ADDOPTS": " ".join(WITHOUT_PLUGINS), **(environment or {})}
        self._status = 0
        self._background: list[subprocess.Popen[str]] = []

    def type(self, one: Typed) -> None:
        """Run a command; fail where it ends with an error that the page does not mention, or says something else."""
        if one.command.endswith("&"):
            message = self._start(one)
        elif one.command == _ECHO_STATUS:
            message, self._status = str(self._status), 0
        else:
            self.settle()
            message = self._run(one.command)
        message = message.replace(str(self._home), HOME)
        # What a page does not show may be anything, as long as it is no failure.
        if one.shown and not agrees(one.shown, message):
            raise AssertionError(f"$ {one.command}\n--- the page shows\n{one.shown}\n--- it says\n{message}")
        self._last = f"$ {one.command}\n{message}"

    def settle(self) -> None:
        """Fail when the last command failed and the page did not go on with `echo $?`."""
        if self._status:
            raise AssertionError(f"status {self._status}, and the page does not say so:\n{self._last}")

    def _run(self, command: str) -> str:
        # The third descriptor tells where the shell stands afterwards.
        ours, theirs = os.pipe()
        script = f"{command}\nstatus=$?; pwd -P >&{theirs}; exit $status"
        with os.fdopen(ours) as place:
            process = self._process(script, pass_fds=(theirs,))
            os.close(theirs)
            try:
                message, _ = process.communicate(timeout=LIMIT)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                message, _ = process.communicate()
                raise AssertionError(f"$ {command}\n--- does not end; it says\n{message}") from None
            self._folder = Path(place.read().strip() or self._folder)
        self._status = process.returncode
        return message

    def _process(self, script: str, *before: str, pass_fds: tuple[int, ...] = ()) -> subprocess.Popen[str]:
        """A shell in a process group of its own."""
        return subprocess.Popen(
            [*before, "bash", "-c", script],
            cwd=self._folder,
            env=self.environment,
            pass_fds=pass_fds,
            start_new_session=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def _start(self, one: Typed) -> str:
        # A test run that is killed must not leave a server behind.
        tied = ["setpriv", "--pdeathsig", "TERM"] if shutil.which("setpriv") else []
        process = self._process(f"exec {one.command.rstrip('&')}", *tied)
        self._background.append(process)
        return _until(one.shown, process.stdout) if one.shown else ""

    def close(self) -> None:
        """End what runs in the background."""
        for process in reversed(self._background):  # a worker leaves while its broker is there
            os.killpg(process.pid, signal.SIGTERM)
            process.wait(30)
            if process.stdout is not None:
                process.stdout.close()


def _until(shown: str, stream: IO[str] | None) -> str:
    """The output of a program until the words of the page appear, or it ends."""
    message = ""
    for line in stream or ():
        message += line
        if agrees(shown, message):
            break
    return message
