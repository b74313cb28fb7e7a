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
        environment = jgo.build(endpoint)
        # `.classpath` lacks the jars that jgo sorts under modules.
        found = [Path(jar) for jar in environment.all_jars]
        return found if environment.classpath else _kept(found, Path(environment.path) / "kept")
    finally:
        os.close(lock)


def _kept(found: list[Path], folder: Path) -> list[Path]:
    """The same jars under names that stay.

    Where all are modules jgo takes its folder for an empty one, and with each call removes the jars and links them
    again, also those that another process is about to open.
    """
    folder.mkdir(exist_ok=True)
    for jar in found:
        if not (folder / jar.name).exists():
            os.link(jar, folder / jar.name)
    return [folder / jar.name for jar in found]
