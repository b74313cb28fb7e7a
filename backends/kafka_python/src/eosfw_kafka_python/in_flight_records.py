"""Keep the futures of accepted records until each record is written or has failed."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from kafka.errors import TransactionAbortedError

_DROP_DONE_EVERY = 8_192
"""Records after which finished futures are dropped, so that a long transaction does not keep all of them."""


class InFlightRecords:
    """The futures of one producer that are not done, and its first failure; used by many threads.

    The library commits a transaction although one of its batches timed out; only the futures show that failure.
    """

    def __init__(self, lock: AbstractContextManager[object]) -> None:
        self._lock = lock
        self._open: list[Any] = []
        self._failed: Exception | None = None
        self._drop_done_at = _DROP_DONE_EVERY

    def add(self, futures: list[Any]) -> None:
        """Add the futures of accepted records."""
        with self._lock:
            self._open += futures
            if len(self._open) >= self._drop_done_at:
                self._drop_done()
                # From what is left, so that records which stay open are not looked through at every append.
                self._drop_done_at = len(self._open) + _DROP_DONE_EVERY

    @property
    def waiting(self) -> int:
        """How many records are neither written nor failed yet."""
        with self._lock:
            self._drop_done()
            return len(self._open)

    @property
    def failed(self) -> Exception | None:
        """The error of the first record that failed; one that only says that the transaction was aborted gives way."""
        with self._lock:
            self._drop_done()
            return self._failed

    @property
    def lost(self) -> bool:
        """Whether a record failed that was sent; one that its transaction's abort overtook was not."""
        failed = self.failed
        return failed is not None and not isinstance(failed, TransactionAbortedError)

    def clear(self) -> None:
        """Forget the futures and the failure of a transaction that is over."""
        with self._lock:
            self._open = []
            self._failed = None
            self._drop_done_at = _DROP_DONE_EVERY

    def _drop_done(self) -> None:
        left = []
        for each in self._open:
            if not each.is_done:
                left.append(each)
            elif each.exception is not None and (
                self._failed is None or isinstance(self._failed, TransactionAbortedError)
            ):
                self._failed = each.exception
        self._open = left
