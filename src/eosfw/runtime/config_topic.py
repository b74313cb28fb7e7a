"""Read the config topic to its end, for everybody in this process who believes in it."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from types import TracebackType
from typing import Self

from eosfw.concurrency import Runtime
from eosfw.ids import TopicPartition
from eosfw.protocols import Backend, IsolationLevel
from eosfw.records import LogBatch, OffsetRange
from eosfw.state.config_log import ConfigLog, ConnectorEntry
from eosfw.state.config_records import WRITER

logger = logging.getLogger(__name__)

READ_TIMEOUT = 30.0
"""How long a read to the end may stand still (LOG-07)."""


class ConfigTopic:
    """The one fold of the config topic in this process; thread-safe.

    One fold for all, because generations are counted, not stored: two folds that began before and after a compaction
    may number them differently.

    Kafka Connect's `KafkaConfigBackingStore` (a `ConfigBackingStore`), as far as it reads.
    """

    def __init__(
        self,
        backend: Backend,
        topic: str,
        isolation: IsolationLevel,
        runtime: Runtime,
        properties: Mapping[str, str] | None = None,
    ) -> None:
        self.partition = TopicPartition(topic, 0)
        self.isolation = isolation
        self.properties = properties
        self._backend = backend
        self._lock = runtime.lock()
        self._log = ConfigLog()
        self._idle: list[ConfigReader] = []
        self._closed = False

    def entry(self, connector: str) -> ConnectorEntry:
        """What is known of a connector, as of the last read."""
        with self._lock:
            return self._log.entry(connector)

    @property
    def position(self) -> int:
        """Offset behind what was read."""
        with self._lock:
            return self._log.position

    def reader(self) -> ConfigReader:
        """A way to read on, for one thread: as a context, or until closed."""
        with self._lock:
            idle = self._idle.pop() if self._idle else None
        return idle or ConfigReader(self, self._backend)

    def release(self, reader: ConfigReader) -> None:
        """Keep a reader for the next who asks: a client that knows its brokers answers at once."""
        with self._lock:
            if not self._closed:
                self._idle.append(reader)
                return
        reader.close()

    def close(self) -> None:
        """Let go of idle readers; those in use go when they are given back."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for reader in idle:
            reader.close()

    def apply(self, batch: LogBatch) -> None:
        """Apply what was read; records that another thread applied first are passed over."""
        headers = batch.headers or [()] * len(batch)
        with self._lock:
            for offset, key, value, marks in zip(batch.offsets, batch.keys, batch.values, headers, strict=True):
                if offset < self._log.position:
                    continue
                writer = next((mark for name, mark in marks if name == WRITER and mark is not None), None)
                problem = self._log.apply(offset, key, value, writer.decode(errors="replace") if writer else None)
                if problem:
                    logger.error("%s at offset %d of topic %s; skipped", problem, offset, batch.topic)

    def mark_read_to(self, end: int) -> None:
        """Note that everything below `end` was read: what follows the last record are control records."""
        with self._lock:
            self._log.position = max(self._log.position, end)


class ConfigReader:
    """Reads the config topic on behalf of one thread of control."""

    def __init__(self, topic: ConfigTopic, backend: Backend) -> None:
        self._topic = topic
        self._admin = backend.admin()
        self._reader = backend.reader(topic.isolation, headers=True, properties=topic.properties)
        self._closed = False

    def read_to_end(self, timeout: float = READ_TIMEOUT) -> None:
        """Return once everything that was in the topic when called is known; `timeout` bounds a stall.

        The end is asked for at read_uncommitted, so an open transaction of the leader is waited for (OFF-02).
        """
        partition = self._topic.partition
        end = self._admin.end_offsets([partition], IsolationLevel.READ_UNCOMMITTED)[partition]
        start = max(self._topic.position, self._admin.log_start_offsets([partition])[partition])
        if start < end:
            for batch in self._reader.read({partition: OffsetRange(start, end)}, timeout):
                self._topic.apply(batch)
            self._topic.mark_read_to(end)

    def close(self) -> None:
        """Let go; a read under way on another thread ends by raising."""
        self._closed = True
        self._reader.close()
        self._admin.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None and not self._closed:
            self._topic.release(self)
        else:
            self.close()
