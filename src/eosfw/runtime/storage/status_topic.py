"""The status topic of a worker group: its states, read by all, written by each (`KafkaStatusBackingStore`)."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from eosfw.closeables import open_both
from eosfw.concurrency import Event, FairLock, Queue, Runtime
from eosfw.errors import AuthenticationError, EosfwError, IndefiniteOutcomeError, RequestTimeoutError, RetriableError
from eosfw.ids import ConnectorTaskId, TopicPartition
from eosfw.protocols import Admin, Backend, IsolationLevel, LogReader, TransactionalProducer
from eosfw.records import OffsetRange, ProducerRecord
from eosfw.state.fencing.failure import lacks_right
from eosfw.state.storage.status_records import (
    ReportedStatus,
    StatusLog,
    StatusRecord,
    TopicStatus,
    connector_status_record,
    may_replace,
    task_status_record,
    topic_removal_record,
    topic_status_record,
)

logger = logging.getLogger(__name__)

READ_TIMEOUT = 30.0
"""Seconds without progress after which a read to the end fails."""
_FLUSH_TIMEOUT = 30.0
_RETRY_PAUSE = 0.5
_REFUSED_PAUSE = 5.0
"""Seconds until the cluster is asked again for what it does not allow."""
_CLOSE_TIMEOUT = 5.0
_REFRESH_TIMEOUT = 5.0
"""Seconds after which an answer has the states that were read last: longer than a read takes on a busy machine."""


@dataclass(frozen=True, slots=True)
class _Write:
    record: StatusRecord
    id: str | ConnectorTaskId | None = None
    """The connector or task whose state it is."""
    status: ReportedStatus | None = None
    late: bool = False
    """Whether another worker may have reported since, so that this report must not replace that one."""


class StatusTopic:
    """The states of connectors and tasks, and the topics they use; thread-safe.

    A write is queued and done by a thread of its own, so that no task waits for it (SCN-07). A read goes to the end of
    the topic.
    """

    def __init__(self, backend: Backend, topic: str, runtime: Runtime, producer: Mapping[str, str]) -> None:
        self.topic = topic
        self._backend, self._runtime, self._producer_properties = backend, runtime, producer
        self._lock = runtime.lock()
        self._log = StatusLog()
        self._reading = FairLock(runtime)
        self._read_begun = float("-inf")
        self._is_late = False
        """Whether a read took too long for an answer, and none has come to the end since."""
        self._positions: dict[TopicPartition, int] = {}
        self._clients: tuple[Admin, LogReader] | None = None
        self._waiting: dict[object, _Write | Event] = {}
        """Writes by their keys, and who waits for those before; the first is the one that is being written."""
        self._wake: Queue[None] = runtime.queue()
        self._closed = self._abandoned = False
        self._writer = runtime.spawn("eosfw-status", self._write_until_closed)

    # --- reading

    def read_to_end(self) -> None:
        """Return once everything that was in the topic at the call is applied."""
        asked = self._runtime.now()
        with self._reading.held(asked + READ_TIMEOUT) as mine:
            if not mine:
                raise RequestTimeoutError(f"the status topic {self.topic} could not be read within {READ_TIMEOUT:g} s")
            if self._read_begun <= asked:  # else another thread has read to the end since
                began = self._runtime.now()
                self._read()
                self._read_begun = began  # only now: who waited for a read that failed has to read itself
                self._is_late = False

    def refresh(self) -> None:
        """Read to the end for an answer; where the cluster does not let it soon, the states that were read last stay.

        Kafka Connect answers from memory, too. While a read is late nobody waits for another one: the worker, which
        reads the topic all the time, tells when it is back.
        """
        if self._is_late:
            return
        done = self._runtime.event()

        def read() -> None:
            with suppress(Exception):  # the worker's own read fails in the same way, and its health says why
                self.read_to_end()
            done.set()

        self._runtime.spawn("eosfw-status-refresh", read)
        if not done.wait(_REFRESH_TIMEOUT):
            self._is_late = True

    def _read(self) -> None:
        if self._clients is None:
            backend = self._backend
            self._clients = open_both(backend.admin, lambda: backend.reader(IsolationLevel.READ_UNCOMMITTED))
        try:
            self._read_with(*self._clients)
        except BaseException:
            if not self._closed:
                # A client reads certificates when it is made, and those may have been renewed since.
                self._close_clients()
                self._clients = None
            raise

    def _read_with(self, admin: Admin, reader: LogReader) -> None:
        if not self._positions:
            count = admin.partitions([self.topic]).get(self.topic, 0)
            self._positions = dict(admin.log_start_offsets([TopicPartition(self.topic, one) for one in range(count)]))
        ends = admin.end_offsets(list(self._positions), IsolationLevel.READ_UNCOMMITTED)
        if shorter := [one for one, at in self._positions.items() if at > ends[one]]:
            # It was deleted and created anew, or a broker has lost its last writes.
            self._positions.update(admin.log_start_offsets(shorter))
        behind = {one: OffsetRange(at, ends[one]) for one, at in self._positions.items() if at < ends[one]}
        for batch in reader.read(behind, READ_TIMEOUT) if behind else ():
            with self._lock:
                problems = [self._log.apply(key, value) for key, value in zip(batch.keys, batch.values, strict=True)]
            for problem in filter(None, problems):
                logger.error("%s in topic %s; skipped", problem, self.topic)
        self._positions.update({one: found.end for one, found in behind.items()})

    def connector(self, name: str) -> ReportedStatus | None:
        """The state of a connector, as of the last read."""
        with self._lock:
            return self._log.connectors.get(name)

    def task(self, task: ConnectorTaskId) -> ReportedStatus | None:
        """The state of a task, as of the last read."""
        with self._lock:
            return self._log.tasks.get(task.connector, {}).get(task)

    def tasks(self, connector: str) -> dict[ConnectorTaskId, ReportedStatus]:
        """The states of a connector's tasks, in their order."""
        with self._lock:
            return dict(sorted(self._log.tasks.get(connector, {}).items()))

    def knows(self, connector: str) -> bool:
        """Whether the topic has a state of a connector or of one of its tasks."""
        with self._lock:
            return connector in self._log.connectors or connector in self._log.tasks

    def connectors(self) -> frozenset[str]:
        """Every connector of which the topic knows a state."""
        with self._lock:
            return frozenset((*self._log.connectors, *self._log.tasks))

    def take_changed(self) -> frozenset[str]:
        """The connectors whose states, or whose tasks' states, were read since the last call."""
        with self._lock:
            return self._log.take_changed()

    def topics(self, connector: str) -> list[str]:
        """The topics that a connector uses."""
        with self._lock:
            return sorted(self._log.topics.get(connector, ()))

    # --- writing

    def put_connector(self, name: str, status: ReportedStatus, *, late: bool = False) -> None:
        """Report the state of a connector."""
        self._put(_Write(connector_status_record(name, status), name, status, late))

    def put_task(self, task: ConnectorTaskId, status: ReportedStatus, *, late: bool = False) -> None:
        """Report the state of a task; `late` if another worker may have reported since."""
        self._put(_Write(task_status_record(task, status), task, status, late))

    def delete_connector(self, name: str) -> None:
        """Forget a connector and its tasks."""
        for task in self.tasks(name):
            self.delete_task(task)
        self._delete(connector_status_record(name, None))

    def delete_task(self, task: ConnectorTaskId) -> None:
        """Forget a task."""
        self._delete(task_status_record(task, None))

    def _delete(self, record: StatusRecord) -> None:
        # Here at once: a state that is about to be deleted is not there for whoever asks whether to report it.
        with self._lock:
            self._log.apply(*record)
        self._put(_Write(record))

    def put_topic(self, status: TopicStatus) -> None:
        """Note that a connector uses a topic."""
        self._put(_Write(topic_status_record(status)))

    def delete_topic(self, connector: str, topic: str) -> None:
        """Forget that a connector uses a topic."""
        self._put(_Write(topic_removal_record(connector, topic)))

    def uses_topic(self, connector: str, topic: str) -> bool:
        """Whether it is known that a connector uses a topic, as of the last read."""
        with self._lock:
            return topic in self._log.topics.get(connector, ())

    def _put(self, write: _Write) -> None:
        # A newer state replaces one that waits, at the end: a deletion in between must not come after it. So states are
        # not behind for minutes when a cluster comes back after hours, in which tasks have reported each trial.
        self._queue(write.record.key, write)

    def _queue(self, key: object, item: _Write | Event) -> None:
        with self._lock:
            if not self._waiting:
                self._wake.put(None)
            self._waiting.pop(key, None)
            self._waiting[key] = item

    def flush(self, timeout: float = _FLUSH_TIMEOUT) -> bool:
        """Wait until what was queued before is written, or given up; False after `timeout` seconds."""
        done = self._runtime.event()
        self._queue(done, done)
        return done.wait(timeout)

    def close(self) -> None:
        """Write what is queued, within a few seconds, then close the clients."""
        self._closed = True
        self._wake.put(None)
        self._writer.join(_CLOSE_TIMEOUT)
        self._abandoned = True
        self._close_clients()

    def _close_clients(self) -> None:
        for client in self._clients or ():
            client.close()

    def _write_until_closed(self) -> None:
        producer: TransactionalProducer | None = None
        while (first := self._await_first()) is not None:
            key, item = first
            if isinstance(item, _Write):
                producer = self._write_with_retries(producer, item)
            else:
                item.set()
            with self._lock:
                if self._waiting.get(key) is item:
                    del self._waiting[key]
        if producer is not None:
            producer.close()

    def _await_first(self) -> tuple[object, _Write | Event] | None:
        """What comes first, once there is something; None when all is written behind a close."""
        while True:
            with self._lock:
                first = next(iter(self._waiting.items()), None)
            if first is not None or self._closed:
                return first
            self._wake.get()

    def kill(self) -> None:
        """Write nothing more, and close the clients."""
        self._abandoned = True
        self.close()

    def _write_with_retries(
        self, producer: TransactionalProducer | None, write: _Write
    ) -> TransactionalProducer | None:
        warned = ""
        while True:
            try:
                if self._abandoned or self._waiting.get(write.record.key) is not write or not self._is_wanted(write):
                    return producer
                producer = producer or self._backend.producer(None, properties=self._producer_properties)
                key, value = write.record
                producer.send(ProducerRecord(self.topic, value, key))
                producer.flush(_FLUSH_TIMEOUT)
            except Exception as error:  # whatever it is, the states behind it must be written
                if producer is not None:
                    producer.close()
                    producer = None
                # Whether it was written does not matter: the newest state of a key counts, also twice.
                refused = lacks_right(error) or isinstance(error, AuthenticationError)
                passing = refused or isinstance(error, RetriableError | IndefiniteOutcomeError)
                if not passing or self._closed:
                    trace = None if isinstance(error, EosfwError) else error
                    logger.error("could not write to the status topic %s: %s", self.topic, error, exc_info=trace)  # noqa: TRY400 the text says it
                    return None
                if str(error) != warned:
                    warned = str(error)
                    logger.warning("could not write to the status topic %s, trying again: %s", self.topic, error)
                with suppress(TimeoutError):  # a close ends the pause
                    self._wake.get(_REFUSED_PAUSE if refused else _RETRY_PAUSE)
            else:
                return producer

    def _is_wanted(self, write: _Write) -> bool:
        if write.status is None or not write.late:
            return True
        self.read_to_end()
        known = self.task(write.id) if isinstance(write.id, ConnectorTaskId) else self.connector(str(write.id))
        return may_replace(known, write.status)
