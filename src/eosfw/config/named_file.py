"""The content of a file that a user has named, which may be a device, a pipe or a mistake."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from pathlib import Path
from typing import Final

__all__ = ["content_state", "read_bytes", "read_text", "unreadable"]

_LARGEST: Final = 16 << 20


def read_text(path: Path) -> str:
    """The text, without a byte order mark; UnicodeDecodeError, or OSError also for more than 16 MiB."""
    return read_bytes(path).decode("utf-8-sig")


def read_bytes(path: Path) -> bytes:
    """The bytes; OSError also for more than 16 MiB."""
    with path.open("rb") as file:
        content = file.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), str(path))
    return content


def unreadable(why: OSError | UnicodeDecodeError) -> str:
    """Why a file was not read, without its name."""
    return "is no UTF-8" if isinstance(why, UnicodeDecodeError) else f"cannot be read: {why.strerror or why}"


def content_state(path: Path) -> object:
    """A value that is another one once the file has other content; None if nobody can look.

    Of the content itself: two writes in one tick of a file system's clock, which may be seconds long, differ in neither
    time nor, maybe, in size. A pipe gives its content once, so it is neither read here nor ever another one.
    """
    try:
        found = path.stat()
        if stat.S_ISREG(found.st_mode) and found.st_size <= _LARGEST:
            return hashlib.sha256(read_bytes(path)).digest()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns if stat.S_ISDIR(found.st_mode) else found.st_size
