"""Keep account of records that were accepted, until each is known to be written."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from kafka.errors import TransactionAbortedError

_DROP_DONE_EVERY = 8_192


class InFlightRecords:
    """The open futures of one producer, the first failure among them; used by many threads.

    The library commits a transaction of which a batch was lost to a timeout: only the futures tell.
    """

    def __init__(self, lock: AbstractContextManager[object]) -> None:
        self._lock = lock
        self._open: list[Any] = []
        self._failed: Exception | None = None
        self._drop_done_at = _DROP_DONE_EVERY

    def add(self, futures: list[Any]) -> None:
        """Take note of records that were accepted."""
        with self._lock:
            self._open += futures
            if len(self._open) >= self._drop_done_at:
                self._drop_done()
                self._drop_done_at = len(self._open) + _DROP_DONE_EVERY

    @property
    def waiting(self) -> int:
        """How many records are not known to be written."""
        with self._lock:
            self._drop_done()
            return len(self._open)

    @property
    def failed(self) -> Exception | None:
        """What kept a record from being written; those that others took with them say least."""
        with self._lock:
            self._drop_done()
            return self._failed

    def clear(self) -> None:
        """Start a new transaction."""
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
