"""Run a contender of a benchmark as a process of its own."""

from __future__ import annotations

import re
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from benchmark import ContenderError

_READY_SECONDS = 30.0
_SHOWN = 500
_ADDRESS = re.compile(r"[^\s,]+:\d+")


class Contender:
    """A process that is measured."""

    def __init__(self, name: str, process: subprocess.Popen[str], errors: IO[bytes]) -> None:
        self.name = name
        self.process = process
        self._errors = errors

    def address(self) -> str:
        """The address that it says it listens on, in its first line."""
        assert self.process.stdout is not None
        late = threading.Timer(_READY_SECONDS, self.process.kill)
        late.start()
        line = self.process.stdout.readline()
        late.cancel()
        found = _ADDRESS.search(line)
        if found is None:
            self.process.kill()
            raise self._failure("ended, or waited too long, before it named the address it listens on")
        return found[0]

    def check(self) -> None:
        """Raise ContenderError if it has ended, unless that is how it ends when all is well."""
        if self.process.poll():
            raise self._failure(f"ended with {self.process.returncode}")

    def finish(self, seconds: float) -> None:
        """Let it end by itself; raise ContenderError if it does not, or not well."""
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise self._failure(f"did not end within {seconds:g} s") from None
        self.check()

    def _failure(self, what: str) -> ContenderError:
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return ContenderError(f"{self.name} {what}" + (f": {lines[-1][:_SHOWN]}" if lines else ""))


@contextmanager
def started(name: str, *command: str) -> Iterator[Contender]:
    """A contender from its command, killed when the block ends unless it ended before; its input stays open."""
    with (
        tempfile.TemporaryFile() as errors,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True) as process,
    ):
        try:
            yield Contender(name, process, errors)
        finally:
            process.kill()
