"""Offer the demo as a command."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NoReturn

import pytest

from .command import Demo


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[Demo]:
    """`eosfw demo` with folders of its own."""
    # Not in pytest's folder, which it closes to others: as root a PostgreSQL runs under another user.
    with TemporaryDirectory(prefix="demo-") as scratch:
        Path(scratch).chmod(0o755)
        yield Demo(tmp_path, Path(scratch))


@pytest.fixture
def java(unavailable: Callable[[str, str], NoReturn]) -> None:
    """Skip what needs Java where there is none."""
    try:
        subprocess.run(["java", "-version"], capture_output=True, check=True, timeout=30)
    except (OSError, subprocess.CalledProcessError) as why:
        unavailable("spark", f"no Java: {why}")
