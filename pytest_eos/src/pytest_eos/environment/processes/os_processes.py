"""Processes of the operating system, found by what `/proc` says of them."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO

FOLDER_VARIABLE = "PYTEST_EOS_BATCH_GATE"
"""The environment variable with the folder of a gate, which all processes of one driver inherit."""
PROC = Path("/proc")
_STATE, _PARENT = 0, 1


def java_above(pid: int) -> int | None:
    """The nearest ancestor that is a JVM: of a Python worker of Spark, its executor."""
    parent = _parent(pid)
    while parent > 1:
        if _name(parent) == "java":
            return parent
        parent = _parent(parent)
    return None


def with_variable(name: str, value: str) -> list[int]:
    """The processes of this user that were started with a variable in their environment."""
    wanted = f"{name}={value}".encode()
    return [pid for pid in _pids() if wanted in _environment(pid)]


def has_stopped(pid: int) -> bool:
    """Whether a process stands still by a signal."""
    return _fields(pid)[_STATE] == "T"


def is_alive(pid: int) -> bool:
    """Whether a process exists and has not ended."""
    return _fields(pid)[_STATE] not in ("Z", "X", "")


def send(signum: signal.Signals, pids: Iterable[int]) -> None:
    """Send a signal to those processes that still exist."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signum)


def absolute_sys_path() -> tuple[str, ...]:
    """`sys.path` with absolute entries, so that it means the same in another working directory."""
    return tuple(os.path.abspath(entry) for entry in sys.path)


def require_pipe(pipe: IO[str] | None) -> IO[str]:
    """A pipe of a process that was started with one."""
    if pipe is None:
        raise RuntimeError("the process was started without this pipe")
    return pipe


def _pids() -> Iterator[int]:
    return (int(entry.name) for entry in PROC.iterdir() if entry.name.isdigit())


def _environment(pid: int) -> list[bytes]:
    try:
        return (PROC / str(pid) / "environ").read_bytes().split(b"\0")
    except OSError:  # it has ended, or belongs to somebody else
        return []


def _name(pid: int) -> str:
    try:
        return (PROC / str(pid) / "comm").read_text().strip()
    except OSError:
        return ""


def _parent(pid: int) -> int:
    return int(_fields(pid)[_PARENT] or 0)


def _fields(pid: int) -> list[str]:
    """State, parent and so on; the name before them may hold anything, even parentheses."""
    try:
        return (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ["", ""]
