"""Let many writers share one wait for the disk (ruling 29, `--flush=fsync`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Final

from eosfw.waiting import Event, Runtime
from eosfw_memory.deferred import Answer, Deferred
from eosfw_memory.log.errors import KafkaStorageError
from eosfw_memory.storage.disk import Disk

_STOP_SECONDS: Final = 10.0
_PATIENCE_MS: Final = 60_000


class GroupCommit:
    """Holds answers back until what they tell of is on the disk.

    One thread waits for the disk; whatever was written meanwhile shares the next wait. Afterwards it writes the markers
    of the transactions that were decided before it began: a marker on the disk without the decision that it follows
    could end one transaction both ways.
    """

    def __init__(self, disk: Disk, lock: AbstractContextManager[object], runtime: Runtime) -> None:
        self._disk = disk
        self._lock = lock
        self._runtime = runtime
        self._turn = runtime.lock()
        self._flushed = disk.written
        self._asked: Event | None = None
        self._stopping = False
        self._waiting: set[Callable[[], None]] = set()
        self._decided: Callable[[], int] = lambda: 0
        self._finish: Callable[[int], None] = lambda _: None
        self._thread = runtime.spawn("eosfw-flush", self._run)

    def settle_with(self, decided: Callable[[], int], finish: Callable[[int], None]) -> None:
        """How many transactions are decided, how to write the markers of the first so many; both under the lock."""
        self._decided, self._finish = decided, finish

    def awaited(self, answer: Answer | Deferred | None, again: Callable[[], Answer]) -> Answer | Deferred | None:
        """The answer, once all that was written so far is on the disk; if that fails, what `again` says then."""
        wanted = self._disk.written
        if not isinstance(answer, Mapping) or wanted == self._flushed:
            return answer
        if self._disk.failed is not None:  # maybe since the answer was made
            return again()
        told = answer

        def attempt(expired: bool) -> Answer | None:  # noqa: FBT001
            if expired:
                self.flush()
            if self._flushed >= wanted:
                return told
            return again() if self._disk.failed is not None else None

        self.ask()
        return Deferred(attempt, _PATIENCE_MS, [self])

    def subscribe(self, wake: Callable[[], None]) -> None:
        """Call `wake` after each wait for the disk."""
        self._waiting.add(wake)

    def unsubscribe(self, wake: Callable[[], None]) -> None:
        """Call it no more."""
        self._waiting.discard(wake)

    def ask(self) -> None:
        """Have the thread wait for the disk soon."""
        if self._asked is not None:
            self._asked.set()

    def flush(self) -> bool:
        """Wait for the disk now; tell whether all that was written before the call is there."""
        with self._turn:
            with self._lock:
                files, upto, decided = self._disk.take_unsynced(), self._disk.written, self._decided()
            try:
                self._disk.sync(files)
            except KafkaStorageError:
                decided = 0
            with self._lock:
                if self._disk.failed is None:
                    self._flushed = upto
                    self._finish(decided)
                for wake in tuple(self._waiting):
                    wake()
                return self._disk.failed is None

    def close(self) -> None:
        """Wait for the disk once more, end the thread."""
        with self._lock:
            self._stopping = True
            self.ask()
        self._thread.join(_STOP_SECONDS)
        self.flush()

    def _run(self) -> None:
        while not self._stopping:
            with self._lock:
                asked = self._asked = self._runtime.event()
                idle = self._disk.written == self._flushed or self._disk.failed is not None
                idle = idle and not self._stopping
            if idle:
                asked.wait()
            if not self._stopping:
                self.flush()
