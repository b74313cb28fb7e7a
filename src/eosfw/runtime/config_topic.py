"""The config topic as this process has read it (Kafka Connect's `ConfigBackingStore`, its reading half)."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from types import TracebackType
from typing import Self

from eosfw.concurrency import Runtime
from eosfw.ids import TopicPartition
from eosfw.protocols import Backend, IsolationLevel
from eosfw.records import LogBatch, OffsetRange
from eosfw.runtime.stalled_read import stalls_explained
from eosfw.state.config_log import ConfigLog, ConnectorEntry
from eosfw.state.config_records import WRITER
from eosfw.state.group_requests import GroupRequests
from eosfw.state.session_key import SessionKeys

logger = logging.getLogger(__name__)

READ_TIMEOUT = 30.0
"""Seconds without progress after which a read to the end fails (LOG-07)."""


class ConfigTopic:
    """The state of all connectors by the config topic; thread-safe (Kafka Connect's `KafkaConfigBackingStore`).

    A process has one such state, because generations are counted, not stored: two readers that began before and after
    a compaction may number them differently.
    """

    def __init__(
        self,
        backend: Backend,
        topic: str,
        isolation: IsolationLevel,
        runtime: Runtime,
        *,
        properties: Mapping[str, str] | None = None,
        group_id: str = "",
    ) -> None:
        self.partition = TopicPartition(topic, 0)
        self.isolation = isolation
        self.properties = properties
        self.group_id = group_id
        self._backend = backend
        self._lock = runtime.lock()
        self._log = ConfigLog()
        self._idle: list[ConfigReader] = []
        self._closed = False

    def entry(self, connector: str) -> ConnectorEntry:
        """The state of a connector as of the last read."""
        with self._lock:
            return self._log.entry(connector)

    @property
    def session_keys(self) -> SessionKeys:
        """The session keys as of the last read."""
        with self._lock:
            return self._log.session_keys

    def connectors(self) -> Mapping[str, ConnectorEntry]:
        """The state of every connector that exists, as of the last read."""
        with self._lock:
            known = self._log.connectors()
        return {name: entry for name, entry in known.items() if entry.properties is not None}

    def requests_since(self, position: int) -> GroupRequests:
        """What was asked of every worker at that offset or later, as of the last read."""
        with self._lock:
            return self._log.requests.since(position)

    @property
    def position(self) -> int:
        """The offset after the last one that was read."""
        with self._lock:
            return self._log.position

    def reader(self) -> ConfigReader:
        """Lend a reader to one thread; it returns at the end of a `with` block, or is closed."""
        with self._lock:
            idle = self._idle.pop() if self._idle else None
        return idle or ConfigReader(self, self._backend)

    def read_to_end(self, timeout: float = READ_TIMEOUT) -> None:
        """Return once everything that was in the topic at the call is applied."""
        with self.reader() as reader:
            reader.read_to_end(timeout)

    def release(self, reader: ConfigReader) -> None:
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
            idle, self._idle = self._idle, []
        for reader in idle:
            reader.close()

    def apply(self, batch: LogBatch) -> None:
        """Apply a batch; records that another thread has applied first are skipped."""
        headers = batch.headers or [()] * len(batch)
        # Several readers may read the same offsets at the same time: each record is applied once, in order.
        with self._lock:
            for offset, key, value, marks in zip(batch.offsets, batch.keys, batch.values, headers, strict=True):
                if offset < self._log.position:
                    continue
                writer = next((mark for name, mark in marks if name == WRITER and mark is not None), None)
                problem = self._log.apply(offset, key, value, writer.decode(errors="replace") if writer else None)
                if problem:
                    logger.error("%s at offset %d of topic %s; skipped", problem, offset, batch.topic)

    def mark_read_to(self, end: int) -> None:
        """Note that everything below `end` was read: after the last record only control records follow."""
        with self._lock:
            self._log.position = max(self._log.position, end)


class ConfigReader:
    """Reads the config topic for one thread at a time."""

    def __init__(self, topic: ConfigTopic, backend: Backend) -> None:
        self._topic = topic
        self._backend = backend
        self._admin = backend.admin()
        self._reader = backend.reader(topic.isolation, headers=True, properties=topic.properties)
        self._closed = False

    def read_to_end(self, timeout: float = READ_TIMEOUT) -> None:
        """Return once everything that was in the topic at the call is applied; fail after `timeout` s of no progress.

        The end offset is that of read_uncommitted, so the read waits for an open transaction of the leader (OFF-02).
        """
        partition = self._topic.partition
        end = self._admin.end_offsets([partition], IsolationLevel.READ_UNCOMMITTED)[partition]
        if self._topic.position >= end:
            return
        start = max(self._topic.position, self._admin.log_start_offsets([partition])[partition])
        if start < end:
            with stalls_explained(self._backend, self._topic.group_id):
                for batch in self._reader.read({partition: OffsetRange(start, end)}, timeout):
                    self._topic.apply(batch)
            self._topic.mark_read_to(end)

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
            self._topic.release(self)
        else:
            self.close()
