"""Let many writers share one wait for the disk (`--flush=fsync`), as databases do with group commit.

Order of locks: a flush takes `_turn`, then the broker's lock, and waits for the disk with `_turn` alone. So nothing may
flush while it holds the broker's lock.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from typing import Final, NamedTuple, Protocol, TypeAlias

from eosfw.concurrency import Event, Runtime, Spawned
from eosfw_memory.common.delayed_operation import (
    EXTENSION_MS,
    Answer,
    DelayedOperation,
    DisconnectClientError,
    Wakeable,
)
from eosfw_memory.common.log_errors import KafkaStorageError
from eosfw_memory.storage.files.disk import Disk

_STOP_SECONDS: Final = 10.0
_PAUSE_SECONDS: Final = 0.1
"""Before the next attempt where this process had too many files open."""
_STEPS_OF_A_COMPLETION: Final = 3
"""The decision, the markers, Complete: each must be on the disk before the next is written."""

_TOO_LATE: Final = (
    "no fsync of what was written ended within the time of the request: the disk took longer, or this process stood "
    "still"
)

Served: TypeAlias = "Answer | DelayedOperation | None"


class DecidedTransactions(Protocol):
    """The transactions that are decided and not complete; every call is made under the broker's lock."""

    def ready(self) -> Completable:
        """Count the transactions that can take their next step once everything written so far is on the disk."""

    def complete_step(self, ready: Completable) -> bool:
        """Take that step; tell whether it wrote something that has to be on the disk before another step."""

    def is_ending(self, transactional_id: str) -> bool:
        """Whether a transaction of the id is decided and not complete."""


class Completable(NamedTuple):
    """How many transactions can take their next step, unless the broker is restarted meanwhile."""

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


class _LateRequest(Wakeable):
    """A request that is served while its client waits already: at the first attempt of its answer."""

    __slots__ = ("_answer", "_serve", "arrived")

    def __init__(self, serve: Callable[[], Served]) -> None:
        super().__init__()
        self._serve = serve
        self.arrived = False
        self._answer: Served = None

    def attempt(self, expired: bool) -> Answer | None:  # noqa: FBT001 - as DelayedOperation calls it
        if not self.arrived:
            self.arrived, self._answer = True, self._serve()
            if isinstance(self._answer, DelayedOperation):
                self._answer.subscribe(self.changed)
        return self._answer.attempt(expired) if isinstance(self._answer, DelayedOperation) else self._answer

    def unsubscribe(self, wake: Callable[[], None]) -> None:
        super().unsubscribe(wake)
        if isinstance(self._answer, DelayedOperation):
            self._answer.cancel()


class _UnconfirmedAnswer(Wakeable):
    """An answer that comes late, and is given once all that was written before it is on the disk."""

    __slots__ = ("_acknowledges", "_answer", "_delayed", "_extended", "_group", "_wanted")

    def __init__(self, group: GroupFsync, delayed: DelayedOperation, *, acknowledges: bool) -> None:
        super().__init__()
        self._group, self._delayed, self._acknowledges = group, delayed, acknowledges
        self._answer: Answer | None = None
        self._wanted = 0
        self._extended = False

    def attempt(self, expired: bool) -> Answer | None:  # noqa: FBT001 - as DelayedOperation calls it
        if self._answer is None:
            self._answer = self._delayed.attempt(expired)
            if self._answer is None:
                self._extended = self._extended or expired
                return None
            self._wanted = self._group.written
            if not self._group.is_flushed(self._wanted):
                self._group.subscribe(self.changed)
                self._group.request_flush()
        if self._group.is_flushed(self._wanted) or (self._group.failed and not self._acknowledges):
            return self._answer
        if self._group.failed:
            raise DisconnectClientError("the disk failed before it had what the answer acknowledges")
        if expired and self._extended:
            raise DisconnectClientError(_TOO_LATE)
        self._extended = self._extended or expired
        return None

    def subscribe(self, wake: Callable[[], None]) -> None:
        super().subscribe(wake)
        self._delayed.subscribe(self.changed)

    def unsubscribe(self, wake: Callable[[], None]) -> None:
        super().unsubscribe(wake)
        self._delayed.cancel()
        self._group.unsubscribe(self.changed)


class GroupFsync(Wakeable):
    """Delays answers until what they acknowledge is on the disk.

    One thread waits for the disk; everything that is written meanwhile shares the next wait. After a wait the thread
    takes the transactions that were decided before the wait began one step further, and only those. A marker on the
    disk without its decision could end one transaction both ways; a transaction that the log calls complete, with a
    marker that is lost, would never get that marker.
    """

    def __init__(self, disk: Disk, lock: AbstractContextManager[object], runtime: Runtime) -> None:
        super().__init__()
        self._disk = disk
        self._lock = lock
        self._runtime = runtime
        self._turn = runtime.lock()
        self._flushed = self._wanted = disk.written
        self._flush_requested: Event | None = None
        self._stopping = False
        self._decided: DecidedTransactions = NO_DECIDED_TRANSACTIONS
        self._thread: Spawned | None = None

    def start(self, ends: DecidedTransactions) -> None:
        """Start the thread; after each wait it takes these transactions one step further."""
        self._decided = ends
        if self._thread is None:
            self._thread = self._runtime.spawn("eosfw-flush", self._run)

    def after_transaction_end(
        self, transactional_id: str | None, serve: Callable[[], Answer | DelayedOperation | None]
    ) -> Served:
        """Serve a request once the transaction of its id, if that is decided, is complete.

        Otherwise a client whose commit was just acknowledged would get CONCURRENT_TRANSACTIONS for its next request and
        try again much later.
        """
        if not transactional_id or self._disk.failed is not None or not self._decided.is_ending(transactional_id):
            return serve()
        name, late = transactional_id, _LateRequest(serve)

        def attempt(expired: bool) -> Answer | None:  # noqa: FBT001
            if not late.arrived and not expired and self._disk.failed is None and self._decided.is_ending(name):
                return None
            return late.attempt(expired)

        self.request_flush()
        return DelayedOperation(attempt, EXTENSION_MS, [self, late])

    def after_fsync(self, serve: Callable[[], Served], *, acknowledges: bool = True) -> Served:
        """Serve a request, and delay its answer until all that was written before it is on the disk.

        If that fails, a request whose answer acknowledges something is served again, and refused then.
        """
        had_failed = self._disk.failed is not None
        answer = serve()
        # What a failed disk did not take was refused already.
        if had_failed or answer is None:
            return answer
        if isinstance(answer, DelayedOperation):
            unconfirmed = _UnconfirmedAnswer(self, answer, acknowledges=acknowledges)
            return DelayedOperation(unconfirmed.attempt, answer.timeout_ms, [unconfirmed])
        known, wanted = answer, self._disk.written
        if wanted == self._flushed:
            return known
        if self._disk.failed is not None:
            return serve() if acknowledges else known
        again = _LateRequest(serve if acknowledges else lambda: known)

        def attempt(expired: bool) -> Answer | None:  # noqa: FBT001
            if self.is_flushed(wanted):
                return known
            if self._disk.failed is not None:
                return again.attempt(expired)
            if expired:  # never wait here: the broker's lock is held, and the thread that waits needs it
                raise DisconnectClientError(_TOO_LATE)
            return None

        self.request_flush()
        return DelayedOperation(attempt, EXTENSION_MS, [self, again])

    def is_flushed(self, written: int) -> bool:
        """Whether so much of what was written is on the disk."""
        return self._flushed >= written

    @property
    def written(self) -> int:
        """How much was written so far."""
        return self._disk.written

    @property
    def failed(self) -> bool:
        """Whether the disk takes nothing any more."""
        return self._disk.failed is not None

    @property
    def waiting(self) -> int:
        """How many are called after the next wait."""
        return len(self._waiting)

    def request_flush(self) -> None:
        """Have the thread wait for the disk soon."""
        self._wanted = self._disk.written
        if self._flush_requested is not None:
            self._flush_requested.set()

    def flush(self) -> bool:
        """Wait for the disk now, without the broker's lock; tell whether all that was written before is there."""
        with self._turn:
            with self._lock:
                try:
                    # At one moment under the lock: `upto` and `ready` may count only what is in these files.
                    files, upto, ready = self._disk.take_unsynced(), self._disk.written, self._decided.ready()
                except KafkaStorageError:  # too many files are open: what was written still waits
                    return False
            with suppress(KafkaStorageError):
                self._disk.sync(files)
            with self._lock:
                if self._disk.failed is None:
                    # Not `written`: what came during the wait may not be on the disk.
                    self._flushed = upto
                    if self._decided.complete_step(ready):
                        self._wanted = self._disk.written
                self.changed()
                return self._disk.failed is None

    def abandon(self) -> None:
        """Let the thread end as it is: nothing that is written from now on will ever be on the disk."""
        self._stopping = True
        self.request_flush()

    def close(self) -> None:
        """End the thread, then complete every transaction that is decided."""
        with self._lock:
            self._stopping = True
            self.request_flush()
        if self._thread is not None:
            self._thread.join(_STOP_SECONDS)
        for _ in range(_STEPS_OF_A_COMPLETION):
            self.flush()

    def _run(self) -> None:
        while not self._stopping:
            with self._lock:
                # Made before the look at `_wanted`, and both under the lock: no request falls between them.
                asked = self._flush_requested = self._runtime.event()
                idle = self._flushed >= self._wanted or self._disk.failed is not None
                idle = idle and not self._stopping
            if idle:
                asked.wait()
            if not self._stopping and not self.flush() and self._disk.failed is None:
                self._runtime.sleep(_PAUSE_SECONDS)
