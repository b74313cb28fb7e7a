"""Jars of Maven Central, by name."""

from __future__ import annotations

import fcntl
import os
import tempfile
from pathlib import Path


def jars(endpoint: str) -> list[Path]:
    """The jars of artifacts, `GROUP:ARTIFACT:VERSION` joined by `+`, and of what they need, downloaded once.

    Raises ImportError without `jgo`, and whatever its downloader raises.
    """
    import jgo  # which environments without Java's packages do without

    lock = os.open(Path(tempfile.gettempdir()) / f"eosfw-jars-of-tests-{os.getuid()}", os.O_CREAT | os.O_RDWR)
    try:
        # Processes of tests that download the same jar at the same time take each other's temporary file away.
        fcntl.flock(lock, fcntl.LOCK_EX)
        # `.classpath` lacks the jars that jgo sorts under modules.
        return [Path(jar) for jar in jgo.build(endpoint).all_jars]
    finally:
        os.close(lock)
