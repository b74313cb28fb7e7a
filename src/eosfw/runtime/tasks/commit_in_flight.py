"""A commit that runs on a thread of its own while its task polls."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import copy_context

from eosfw.concurrency import Runtime


class CommitInFlight:
    """One commit under way."""

    def __init__(self, name: str, commit: Callable[[], None], runtime: Runtime) -> None:
        self._commit = commit
        self._error: BaseException | None = None
        # A thread for each commit: a new thread runs at once, up to the call that waits for the cluster, whereas one
        # that waits in a queue would not get the interpreter from a source that computes (5 ms by default).
        context = copy_context()  # log records of that thread are about the same task
        self._thread = runtime.spawn(name, lambda: context.run(self._run))

    def _run(self) -> None:
        try:
            self._commit()
        except BaseException as error:  # noqa: BLE001 raised where the task waits for it
            self._error = error

    def wait(self) -> None:
        """Wait for its end, and raise its error; the deadline is that of the commit."""
        self._thread.join()
        if self._error is not None:
            raise self._error
