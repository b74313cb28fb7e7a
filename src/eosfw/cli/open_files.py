"""How many files and connections a server of the command line may have open."""

from __future__ import annotations

import sys


def allow_many_files() -> None:
    """Raise the soft limit of this process to the hard one, as Java does when it starts.

    Each task of a worker holds two or three connections, so that the usual soft limit of 1,024 is reached by a few
    hundred tasks: at the latest when those of a worker that was lost come to this one.
    """
    if sys.platform != "win32":  # which has no such limit
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft != hard:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
