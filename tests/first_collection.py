"""Collect tests without bytecode once, before each worker of pytest-xdist would compile them for itself."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.util import cache_from_source
from pathlib import Path

import pytest

PROCESSES = 4
"""At most; each also imports what all tests need."""


def is_new(folder: Path) -> bool:
    """Whether pytest has kept the rewritten assertions of no module of a folder."""
    modules = list(folder.rglob("test_*.py"))
    return bool(modules) and not any(_rewritten(module).exists() for module in modules)


@contextmanager
def collected_once(folders: Iterable[str], markers: str) -> Iterator[None]:
    """Compile what the tests of new folders import, beside the block: a failure is left to who collects them next."""
    new = [] if sys.dont_write_bytecode else [folder for folder in folders if is_new(Path(folder))]
    # Some folders hold most of the tests; every so many-th of them makes shares that are alike enough.
    processes = min(PROCESSES, os.cpu_count() or 1)
    shares = [share for first in range(processes) if (share := new[first::processes])]
    started = [_collecting(share, markers) for share in shares]
    try:
        yield
    finally:
        for process in started:
            process.wait()


def _rewritten(module: Path) -> Path:
    cached = Path(cache_from_source(str(module)))
    return cached.with_name(f"{cached.stem}-pytest-{pytest.__version__}.pyc")


def _collecting(folders: list[str], markers: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", "-m", markers]
    return subprocess.Popen([*command, *folders], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
