"""The resources of this process: threads, descriptors, child processes, temporary files."""

from __future__ import annotations

import gc
import os
import re
import socket
import stat
import sys
import threading  # noqa: TID251 - looks at threads, makes none
from collections.abc import Callable, Container, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import FrameType

import pytest

from pytest_eos.environment.clusters.cluster import runtime
from pytest_eos.virtual.stack_frames import frame_location

_PROC = Path("/proc/self")
_DESCRIPTORS = _PROC / "fd" if _PROC.exists() else Path("/dev/fd")
_LISTEN = "0A"
_SOCKET = re.compile(r"^socket:\[(\d+)\]")
_SETTLE = 1.0
"""Real seconds within which stopped threads must end."""
_ROUNDS = 5
"""How often a task is run until one leaves nothing: other clients in this process may connect again during each."""


def held_resources(temporary: Path) -> dict[object, str]:
    """The resources that are held now, each with its description; `temporary` is the folder of temporary files."""
    return {**_threads(), **_descriptors(), **_processes(), **_files(temporary)}


def refuse_leftovers(what: str, temporary: Path, use: Callable[[], object]) -> None:
    """Fail if each of several rounds leaves something behind: others in this process may open something meanwhile."""
    use()
    left: list[str] = []
    for _ in range(_ROUNDS):
        before = held_resources(temporary)
        use()
        if not (left := _left(before, temporary)):
            return
    pytest.fail(f"{what} left behind: {'; '.join(left)}", pytrace=False)


def _left(before: Container[object], temporary: Path) -> list[str]:
    """The resources that were not held before and are not released within `_SETTLE` seconds."""
    clock = runtime()
    deadline = clock.now() + _SETTLE
    pause = 0.01
    gc.collect()
    while _not_in(before, temporary):
        if clock.now() > deadline:
            gc.collect()  # what a thread held in circles until it ended
            return _with_addresses(_not_in(before, temporary))
        clock.sleep(pause)
        pause *= 1.5
    return []


def _not_in(before: Container[object], temporary: Path) -> list[str]:
    return [name for key, name in held_resources(temporary).items() if key not in before]


def _threads() -> dict[object, str]:
    frames = sys._current_frames()  # noqa: SLF001 - the one way to see where another thread stands
    found: dict[object, str] = {}
    for thread in threading.enumerate():
        where = _own_line(frames.get(thread.ident or 0))
        found[thread] = f"thread {thread.name!r}{' (daemon)' if thread.daemon else ''}{where}"
    return found


def _own_line(frame: FrameType | None) -> str:
    """The outermost line outside `threading`: the function of the thread says more than the lock that it waits for."""
    lines: list[str] = []
    while frame is not None:
        if not lines or frame.f_code.co_filename != threading.__file__:
            lines.append(frame_location(frame))
        frame = frame.f_back
    return f" in {lines[-1]}" if lines else ""


def _descriptors() -> dict[object, str]:
    found: dict[object, str] = {}
    for name in os.listdir(_DESCRIPTORS):
        with suppress(OSError):  # the descriptor that listed the others is closed by now
            target = os.readlink(_DESCRIPTORS / name) if _PROC.exists() else _file_number(int(name))
            found["descriptor", name, target] = f"{target} (descriptor {name})"
    return found


def _file_number(descriptor: int) -> str:
    status = os.fstat(descriptor)
    return f"{'socket' if stat.S_ISSOCK(status.st_mode) else 'inode'}:[{status.st_ino}]"


def _with_addresses(left: list[str]) -> list[str]:
    """Sockets by what they connect: asked at the end only, since the machine may have thousands of connections."""
    sockets = _sockets()
    return [_SOCKET.sub(lambda found: sockets.get(int(found[1]), "a socket"), one) for one in left]


def _sockets() -> Mapping[int, str]:
    """The sockets of this machine by their inode; empty without /proc."""
    return {inode: name for table in ("tcp", "tcp6", "udp", "udp6") for inode, name in _connections(table)}


def _connections(table: str) -> Iterator[tuple[int, str]]:
    try:
        lines = (_PROC / "net" / table).read_text(encoding="ascii").splitlines()[1:]
    except OSError:
        return
    for line in lines:
        _, local, remote, state, *rest = line.split()
        here, there = _address(local), _address(remote)
        name = f"a connection {here} to {there}" if table.startswith("tcp") else f"a UDP socket at {here}"
        yield int(rest[5]), f"a listening socket at {here}" if state == _LISTEN else name


def _address(text: str) -> str:
    """An address from /proc/net, where the kernel writes words of four bytes in little-endian order."""
    words, _, port = text.partition(":")
    raw = b"".join(bytes.fromhex(words[at : at + 8])[::-1] for at in range(0, len(words), 8))
    host = socket.inet_ntop(socket.AF_INET if len(raw) == 4 else socket.AF_INET6, raw)
    return f"{host}:{int(port, 16)}"


def _processes() -> dict[object, str]:
    found: dict[object, str] = {}
    for children in _PROC.glob("task/*/children"):
        with suppress(OSError):
            for pid in children.read_text(encoding="ascii").split():
                command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                found["process", pid] = f"process {pid}: {command.strip()[:80]}"
    return found


def _files(folder: Path) -> dict[object, str]:
    return {("file", path): f"temporary file {path.relative_to(folder)}" for path in sorted(folder.rglob("*"))}
