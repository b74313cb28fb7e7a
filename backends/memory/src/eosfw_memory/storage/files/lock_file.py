"""Lock a data directory, or say in one sentence why that is impossible."""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path
from typing import Final

from eosfw.errors import ConfigError, Problem

LOCK: Final = ".lock"
_KEY: Final = "log.dirs"
_IN_MEMORY: Final = ("tmpfs", "ramfs")


def acquire(root: Path) -> int:
    """Lock the directory, creating it if need be; give the descriptor that holds the lock until it is closed.

    The system releases the lock when the process ends, however it ends; no process id is compared.
    """
    try:
        root.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(root / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as why:
        raise unusable_directory(root, _explained(root, why)) from why
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BaseException as why:
        os.close(descriptor)
        if isinstance(why, BlockingIOError):
            raise unusable_directory(
                root, "is in use by another broker; stop that one or take another directory"
            ) from None
        raise
    return descriptor


def refuse_memory(root: Path, kind: str) -> None:
    """Raise ConfigError for a directory on a kind of file system that is gone with the power."""
    if kind in _IN_MEMORY:
        raise unusable_directory(root, f"lies on {kind}, which no flush makes durable; take a directory on a disk")


def unusable_directory(root: Path, why: str) -> ConfigError:
    """The error for a directory that cannot be used."""
    return ConfigError(Problem(_KEY, f"{root} {why}"))


def _explained(root: Path, why: OSError) -> str:
    if why.errno == errno.ELOOP or (isinstance(why, FileExistsError) and root.is_symlink()):
        return "is a symbolic link that leads nowhere or in a circle; take another path"
    if isinstance(why, (FileExistsError, NotADirectoryError)):
        return "is not a directory; take another path"
    if isinstance(why, PermissionError) or why.errno == errno.EROFS:
        return f"cannot be written to by this user ({os.strerror(why.errno or 0)}); change its rights or take another"
    return f"cannot be used: {why.strerror or why}"


def file_system(root: Path) -> str:
    """The kind of file system that holds a path; empty where the system does not say."""
    try:
        lines = Path("/proc/mounts").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    mounts = [line.split()[1:3] for line in lines if len(line.split()) > 2]
    where = root.resolve()
    holding = [(len(place), kind) for place, kind in mounts if where.is_relative_to(place)]
    # Mounts may lie within others: the longest path that holds the directory is the one it is on.
    return max(holding)[1] if holding else ""
