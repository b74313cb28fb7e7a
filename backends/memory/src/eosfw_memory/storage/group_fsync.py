"""Let many writers share one wait for the disk (`--flush=fsync`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, suppress
from typing import Final, NamedTuple, Protocol, TypeAlias

from eosfw.concurrency import Event, Runtime, Spawned
from eosfw_memory.delayed_operation import Answer, DelayedOperation
from eosfw_memory.log_errors import KafkaStorageError
from eosfw_memory.storage.disk import Disk

_STOP_SECONDS: Final = 10.0
_PATIENCE_MS: Final = 60_000
_STEPS_OF_AN_END: Final = 3
"""Its decision, its markers, that it is complete: each waits for the disk."""

Served: TypeAlias = "Answer | DelayedOperation | None"


class DecidedTransactions(Protocol):
    """The transactions that are decided and not complete; every call is made under the broker's lock."""

    def ready(self) -> Completable:
        """What the next step may be made of, if all that was written so far is on the disk."""

    def complete_step(self, ready: Completable) -> bool:
        """Make that step; whether another one is to follow soon."""

    def is_ending(self, transactional_id: str) -> bool:
        """Whether a transaction of the id is decided and not complete."""


class Completable(NamedTuple):
    """How many transactions can be taken further, in which life of the broker."""

    restarts: int
    decided: int
    marked: int


class _NoDecidedTransactions:
    def ready(self) -> Completable:
        return Completable(0, 0, 0)

    def complete_step(self, ready: Completable) -> bool:
        return False

    def is_ending(self, transactional_id: str) -> bool:
        return False


NO_DECIDED_TRANSACTIONS: Final = _NoDecidedTransactions()


class GroupFsync:
    """Holds answers back until what they tell of is on the disk.

    One thread waits for the disk; whatever was written meanwhile shares the next wait. Afterwards it takes the
    transactions that were decided before it began one step further, and only those: a marker on the disk without the
    decision that it follows could end one transaction both ways, and one that is said to be complete without a marker
    on the disk would never get it.
    """

    def __init__(self, disk: Disk, lock: AbstractContextManager[object], runtime: Runtime) -> None:
        self._disk = disk
        self._lock = lock
        self._runtime = runtime
        self._turn = runtime.lock()
        self._flushed = self._wanted = disk.written
        self._flush_requested: Event | None = None
        self._stopping = False
        self._waiting: set[Callable[[], None]] = set()
        self._decided: DecidedTransactions = NO_DECIDED_TRANSACTIONS
        self._thread: Spawned | None = None

    def start(self, ends: DecidedTransactions) -> None:
        """Begin to wait for the disk; take these transactions further after each wait."""
        self._decided = ends
        if self._thread is None:
            self._thread = self._runtime.spawn("eosfw-flush", self._run)

    def after_transaction_end(
        self, transactional_id: str | None, serve: Callable[[], Answer | DelayedOperation | None]
    ) -> Served:
        """What `serve` answers, once a transaction of the id that is decided is complete, too.

        Else its client, which was told that all is well, would be told to come again, and so much later.
        """
        if not transactional_id or self._disk.failed is not None or not self._decided.is_ending(transactional_id):
            return serve()
        name, served = transactional_id, list[Served]()

        def attempt(expired: bool) -> Answer | None:  # noqa: FBT001
            if not served:
                if not expired and self._disk.failed is None and self._decided.is_ending(name):
                    return None
                served.append(serve())
            answer = served[0]
            return answer.attempt(expired) if isinstance(answer, DelayedOperation) else answer

        self.request_flush()
        return DelayedOperation(attempt, _PATIENCE_MS, [self])

    def after_fsync(self, answer: Served, again: Callable[[], Answer]) -> Served:
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

        self.request_flush()
        return DelayedOperation(attempt, _PATIENCE_MS, [self])

    def subscribe(self, wake: Callable[[], None]) -> None:
        """Call `wake` after each wait for the disk."""
        self._waiting.add(wake)

    def unsubscribe(self, wake: Callable[[], None]) -> None:
        """Call it no more."""
        self._waiting.discard(wake)

    def request_flush(self) -> None:
        """Have the thread wait for the disk soon."""
        self._wanted = self._disk.written
        if self._flush_requested is not None:
            self._flush_requested.set()

    def flush(self) -> bool:
        """Wait for the disk now; tell whether all that was written before the call is there."""
        with self._turn:
            with self._lock:
                files, upto, ready = self._disk.take_unsynced(), self._disk.written, self._decided.ready()
            with suppress(KafkaStorageError):
                self._disk.sync(files)
            with self._lock:
                if self._disk.failed is None:
                    self._flushed = upto
                    if self._decided.complete_step(ready):
                        self._wanted = self._disk.written
                for wake in tuple(self._waiting):
                    wake()
                return self._disk.failed is None

    def close(self) -> None:
        """Wait for the disk until nothing is left to do, end the thread."""
        with self._lock:
            self._stopping = True
            self.request_flush()
        if self._thread is not None:
            self._thread.join(_STOP_SECONDS)
        for _ in range(_STEPS_OF_AN_END):
            self.flush()

    def _run(self) -> None:
        while not self._stopping:
            with self._lock:
                asked = self._flush_requested = self._runtime.event()
                idle = self._flushed >= self._wanted or self._disk.failed is not None
                idle = idle and not self._stopping
            if idle:
                asked.wait()
            if not self._stopping:
                self.flush()
