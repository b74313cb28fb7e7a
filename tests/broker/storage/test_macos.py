"""A data directory works where Linux's own calls are missing: on macOS, whose own are played here."""

from __future__ import annotations

import fcntl
import os
import sys
from collections.abc import Iterator

import pytest

from eosfw_memory.faults.recorded_disk import RecordingSystem
from eosfw_memory.storage.files.disk import OperatingSystem

F_FULLFSYNC, F_GETPATH = 51, 50


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """The commands given to `fcntl` by a process that takes itself to run on macOS."""
    given: list[int] = []

    def macos_fcntl(descriptor: int, command: int, argument: bytes = b"") -> int | bytes:
        given.append(command)
        if command == F_GETPATH:
            return os.readlink(f"/proc/self/fd/{descriptor}".encode()).ljust(len(argument), b"\0")
        return 0

    with monkeypatch.context() as patched:
        patched.setattr(sys, "platform", "darwin")
        patched.delattr(os, "fdatasync")
        patched.setattr(fcntl, "fcntl", macos_fcntl)
        patched.setattr(fcntl, "F_FULLFSYNC", F_FULLFSYNC, raising=False)
        patched.setattr(fcntl, "F_GETPATH", F_GETPATH, raising=False)
        yield given


def test_a_flush_on_macos_goes_through_the_cache_of_the_drive(calls, tmp_path):
    """As Java's `FileChannel.force` does there: fsync alone leaves data in that cache."""
    with (tmp_path / "log").open("wb") as file:
        OperatingSystem().sync(file.fileno())

    assert calls == [F_FULLFSYNC]


def test_a_recorded_disk_on_macos_asks_for_the_name_of_an_open_file(calls, tmp_path):
    system = RecordingSystem()
    system.adopt(tmp_path)
    with (tmp_path / "log").open("wb") as file:
        system.write(file.fileno(), [b"a"], 0)

    assert [(step.kind, step.name) for step in system.steps] == [("create", "log"), ("write", "log")]
    assert calls == [F_GETPATH]
