"""One partition that a process reads into a state, again and again (Kafka Connect's `KafkaBasedLog`)."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from eosfw.closeables import open_both
from eosfw.concurrency import Runtime
from eosfw.errors import RetriableError
from eosfw.ids import TopicPartition
from eosfw.protocols import Backend, IsolationLevel
from eosfw.records import Headers, LogBatch, OffsetRange
from eosfw.runtime.storage.stalled_read import stalls_explained

logger = logging.getLogger(__name__)

READ_TIMEOUT = 30.0
"""Seconds without progress after which a read to the end fails (LOG-07)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSource:
    """Where a log is, and how it is read."""

    topic: str
    isolation: IsolationLevel
    group_id: str = ""
    """The worker group, for the text of an error."""
    properties: Mapping[str, str] | None = None
    """Of the consumer."""

    @property
    def partition(self) -> TopicPartition:
        """The only partition."""
        return TopicPartition(self.topic, 0)


class KafkaBasedLog(ABC):
    """A state that follows from the records of one partition; thread-safe."""

    def __init__(self, backend: Backend, source: LogSource, runtime: Runtime) -> None:
        self.source = source
        self._backend = backend
        self._lock = runtime.lock()
        """Held while a record is applied."""
        self._position = 0
        self._idle: list[KafkaBasedLogReader] = []
        self._closed = False

    @abstractmethod
    def _apply(self, offset: int, key: bytes | None, value: bytes | None, headers: Headers) -> str | None:
        """Apply one record; return the reason if it was skipped."""

    @property
    def partition(self) -> TopicPartition:
        """Where the log is."""
        return self.source.partition

    @property
    def position(self) -> int:
        """The offset after the last one that was read."""
        with self._lock:
            return self._position

    def reader(self) -> KafkaBasedLogReader:
        """Lend a reader to one thread; it returns at the end of a `with` block, or is closed."""
        with self._lock:
            # The newest of them: its connections are the least likely to have been closed for being idle.
            idle = self._idle.pop() if self._idle else None
        return idle or KafkaBasedLogReader(self, self._backend)

    def read_to_end(self, timeout: float = READ_TIMEOUT) -> None:
        """Return once everything that was in the topic at the call is applied."""
        with self.reader() as reader:
            reader.read_to_end(timeout)

    def read_decided(self, timeout: float = READ_TIMEOUT) -> None:
        """Apply what can be read now; an open transaction is not waited for."""
        with self.reader() as reader:
            reader.read_decided(timeout)

    def release(self, reader: KafkaBasedLogReader) -> None:
        """Take a reader back for the next caller: a client that is connected already answers at once."""
        with self._lock:
            if not self._closed:
                self._idle.append(reader)
                return
        reader.close()

    def close(self) -> None:
        """Close idle readers now; those that are lent are closed when they are released."""
        with self._lock:
            self._closed = True
        self.close_idle()

    def close_idle(self) -> None:
        """Have the next callers get new clients."""
        with self._lock:
            idle, self._idle = self._idle, []
        for reader in idle:
            reader.close()

    def apply(self, batch: LogBatch) -> None:
        """Apply a batch; records that another thread has applied first are skipped."""
        headers = batch.headers or [()] * len(batch)
        # Several readers may read the same offsets at the same time: each record is applied once, in order.
        with self._lock:
            for offset, key, value, marks in zip(batch.offsets, batch.keys, batch.values, headers, strict=True):
                if offset < self._position:
                    continue
                self._position = offset + 1
                if problem := self._apply(offset, key, value, marks):
                    logger.error("%s at offset %d of topic %s; skipped", problem, offset, batch.topic)

    def mark_read_to(self, end: int) -> None:
        """Note that everything below `end` was read: after the last record only control records follow."""
        with self._lock:
            self._position = max(self._position, end)


class KafkaBasedLogReader:
    """Reads a log for one thread at a time."""

    def __init__(self, log: KafkaBasedLog, backend: Backend) -> None:
        self._log = log
        self._backend = backend
        self._admin, self._reader = open_both(
            backend.admin,
            lambda: backend.reader(log.source.isolation, headers=True, properties=log.source.properties),
        )
        self._closed = False

    def read_to_end(self, timeout: float = READ_TIMEOUT) -> None:
        """Return once everything that was in the topic at the call is applied; fail after `timeout` s of no progress.

        The end offset is that of read_uncommitted, so the read waits for an open transaction of the leader (OFF-02).
        """
        self._read(IsolationLevel.READ_UNCOMMITTED, timeout)

    def read_decided(self, timeout: float = READ_TIMEOUT) -> None:
        """Apply what can be read now; an open transaction is not waited for."""
        self._read(IsolationLevel.READ_COMMITTED, timeout)

    def _read(self, end_by: IsolationLevel, timeout: float) -> None:
        log, partition = self._log, self._log.partition
        # The end is asked first, and then fixed: a log that grows all the time is read to an end, too.
        end = self._admin.end_offsets([partition], end_by)[partition]
        if log.position >= end:
            return
        start = max(log.position, self._admin.log_start_offsets([partition])[partition])
        if start < end:
            with stalls_explained(self._backend, log.source.group_id):
                for batch in self._reader.read({partition: OffsetRange(start, end)}, timeout):
                    log.apply(batch)
            log.mark_read_to(end)

    def close(self) -> None:
        """Close the clients; a read on another thread ends with an error."""
        self._closed = True
        self._reader.close()
        self._admin.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None and not self._closed:
            self._log.release(self)
        else:
            self.close()
            if isinstance(error, RetriableError):
                # The others have read their certificates as early as this one: each of them would fail as slowly.
                self._log.close_idle()
