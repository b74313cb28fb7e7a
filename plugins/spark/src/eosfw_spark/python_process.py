"""What each Python process of Spark has for itself: nothing of it is sent to another one."""

from __future__ import annotations

from typing import Final

from eosfw.concurrency import Runtime, ThreadRuntime


class PythonProcess:
    """Writers are pickled and sent to tasks, so they cannot carry a `Runtime`: they ask here where they run."""

    def __init__(self) -> None:
        self._runtime = ThreadRuntime()

    def runtime(self) -> Runtime:
        """The threads and clocks of this process."""
        return self._runtime


PROCESS: Final = PythonProcess()
"""The process that this code runs in."""
