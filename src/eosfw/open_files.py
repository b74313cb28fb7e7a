"""How many files and connections this process may have open."""

from __future__ import annotations

import errno
import sys
from typing import Final

__all__ = ["allow_many_files", "none_left"]

_OPEN_MAX: Final = 10_240
"""What macOS permits whatever its hard limit says (`OPEN_MAX`)."""


def allow_many_files() -> None:
    """Raise the soft limit of this process to the hard one, as Java does when it starts.

    Each task of a worker holds two or three connections, so that the usual soft limit of 1,024 is reached by a few
    hundred tasks: at the latest when those of a worker that was lost come to this one. A broker on a disk holds a file
    for each partition in use.
    """
    if sys.platform != "win32":  # which has no such limit
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        for wanted in (hard, _OPEN_MAX) if soft != hard else ():
            try:
                return resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            except (ValueError, OSError):  # a server of few tasks needs no more than it has
                continue
    return None


def none_left(error: OSError) -> bool:
    """Whether an error says that no more can be opened; that passes once this process has closed some."""
    return error.errno in (errno.EMFILE, errno.ENFILE)
