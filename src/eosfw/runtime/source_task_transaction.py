"""Put polled records, the offsets behind them, into one transaction after another."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from eosfw.concurrency import Runtime
from eosfw.connectors import CommitsRecords, SourceTask
from eosfw.errors import EosfwError, InterruptedRunError, RetriableError, TaskFailedError
from eosfw.identity import IdentityHeaders
from eosfw.protocols import OffsetStore, TransactionalProducer
from eosfw.records import Headers, ProducerRecord, RecordMetadata, SourceBatch, SourceRecord
from eosfw.runtime.commit_protocol import RETRY_PAUSE, CommitProtocol
from eosfw.runtime.poll_result import Records, columns, columns_of, offsets_of, records_of, runs, tells_apart
from eosfw.runtime.status_recorder import TaskStatusRecorder
from eosfw.runtime.task_plan import TaskPlan
from eosfw.runtime.topic_creation import RecordTopics
from eosfw.state.offsets import PendingOffsets
from eosfw.state.steps import TaskStep

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class _Sent:
    """A record whose task wants to hear of its commit."""

    record: SourceRecord
    metadata: RecordMetadata | None = None

    def delivered(self, metadata: RecordMetadata | None, error: EosfwError | None) -> None:
        self.metadata = metadata


@dataclass(frozen=True, slots=True)
class TaskOutput:
    """Where a task's records leave: the producer, how it ends what it sent, the topics it sends to."""

    producer: TransactionalProducer
    commit_protocol: CommitProtocol
    topics: RecordTopics
    store: OffsetStore
    pending_offsets: PendingOffsets
    runtime: Runtime
    batch_headers: bool = False
    """Whether batches carry headers at their own speed; where not, records that have any go one by one."""


class SourceTaskTransaction:
    """At most one open transaction of a task; used by the task's thread alone.

    What Kafka Connect's `ExactlyOnceWorkerSourceTask` adds to the loop of a task.
    """

    def __init__(self, plan: TaskPlan, output: TaskOutput, recorder: TaskStatusRecorder, source: SourceTask) -> None:
        self._plan, self._output, self._recorder, self._source = plan, output, recorder, source
        self._commit_record = source.commit_record if isinstance(source, CommitsRecords) else None
        self._sent: list[_Sent] = []
        self._number = 0
        self.open = False
        self.abandoned = False
        """Set by another thread, which aborts: the task's own does no more with its producer."""
        self._identity = IdentityHeaders(plan.id.connector) if plan.identity_headers else None
        self.record_offsets = self._commit_record is not None or self._identity is not None
        """Whether the offset behind each single record must be known."""
        slow_headers = self._identity is not None and not output.batch_headers
        self._one_by_one = self._commit_record is not None or slow_headers

    @property
    def _current(self) -> int | None:
        return self._number if self.open and self._plan.exactly_once else None

    # --- sending

    def send_batch(self, batch: SourceBatch) -> None:
        """Send a batch whole, then note its offset; an empty one only moves the offset."""
        if self._one_by_one:
            self.send_records(list(records_of(batch, self._plan.id)), batch)
            return
        if len(batch):
            headers = self._batch_headers(batch)
            self._before_send(batch.topic, len(batch))
            self._retried(lambda: self._output.producer.send_batch(columns(batch, headers)))
        self._output.pending_offsets.note(batch.source_partition, batch.source_offset)

    def send_records(self, records: Records, behind: SourceBatch | None = None) -> None:
        """Send records in order, noting each offset once its record was accepted (TXN-04)."""
        if records:
            for topic in {record.topic for record in records}:
                self._admit(topic)
            self._before_send(records[0].topic, len(records))
            for run in runs(records, headers=self._output.batch_headers):
                if self._one_by_one or len(run) == 1:
                    self._send_alone(run)
                else:
                    self._send_run(run)
        if behind is not None:
            self._output.pending_offsets.note(behind.source_partition, behind.source_offset)

    def _before_send(self, topic: str, count: int) -> None:
        self._refuse_if_abandoned()
        self._admit(topic)
        if not self.open:
            self._begin()
        self._recorder.step(TaskStep.SEND, self._current, records=count, topic=topic)
        self._recorder.open_records += count

    def _admit(self, topic: str) -> None:
        if topic == self._plan.offsets_topic.name:  # the next start would wait for this very transaction (TXN-15)
            raise TaskFailedError(
                f"task {self._plan.id} returned a record for {topic!r}, its own offsets topic; send it elsewhere"
            )
        self._output.topics.ensure(topic)

    def _begin(self) -> None:
        if self._plan.exactly_once:
            self._recorder.step(TaskStep.BEGIN, self._number + 1)
        self._output.commit_protocol.begin()
        self._number += 1
        self.open = True

    def _send_run(self, run: list[SourceRecord]) -> None:
        headers = self._headers(run)
        self._retried(lambda: self._output.producer.send_batch(columns_of(run, headers)))
        for record in run:
            self._output.pending_offsets.note(record.source_partition, record.source_offset)

    def _send_alone(self, run: list[SourceRecord]) -> None:
        headers = self._headers(run)
        for index, record in enumerate(run):
            self._send_one(record, headers[index] if headers else ())
            self._output.pending_offsets.note(record.source_partition, record.source_offset)

    def _batch_headers(self, batch: SourceBatch) -> list[Headers] | None:
        if self._identity is None or not (self._plan.identity_named or tells_apart(batch)):
            return None
        return self._identity.column(batch.source_partition, offsets_of(batch, self._plan.id))

    def _headers(self, run: Records) -> list[Headers] | None:
        if self._identity is not None:
            return self._identity.of_records(run)
        headers = [record.headers for record in run]
        return headers if any(headers) else None

    def _send_one(self, record: SourceRecord, headers: Headers) -> None:
        sent = None if self._commit_record is None else _Sent(record)
        out = ProducerRecord(record.topic, record.value, record.key, record.partition, record.timestamp, headers)
        self._retried(lambda: self._output.producer.send(out, None if sent is None else sent.delivered))
        if sent is not None:
            self._sent.append(sent)

    def _retried(self, send: Callable[[], None]) -> None:
        """Send again what may be sent again; the transaction stays open meanwhile (TXN-09)."""
        deadline = self._output.runtime.now() + self._plan.transaction_timeout
        while True:
            try:
                return send()
            except RetriableError:
                if self._output.runtime.now() + RETRY_PAUSE >= deadline:
                    raise
                self._output.runtime.sleep(RETRY_PAUSE)

    # --- ending

    def commit(self) -> None:
        """Commit what was sent with the offsets behind it, then call back; with nothing to commit, only call back."""
        offsets = self._output.pending_offsets.items()
        if self.open or offsets:
            # An offset that cannot be stated raises here: nothing of it is written, nothing becomes visible (TXN-05).
            self._finish(self._output.store.encode(self._plan.id.connector, self._plan.offsets_topic.name, offsets))
        self._call_back()

    def _finish(self, offset_records: Sequence[ProducerRecord]) -> None:
        self._refuse_if_abandoned()
        output, recorder, records = self._output, self._recorder, self._recorder.open_records
        if not self.open:
            self._begin()
        number = self._current
        output.commit_protocol.flush_records()
        recorder.step(TaskStep.SEND_OFFSETS, number, records=len(offset_records))
        for record in offset_records:
            self._retried(partial(output.producer.send, record))
        recorder.step(TaskStep.COMMIT, number, records=records)
        output.commit_protocol.commit()
        self.open = False
        output.pending_offsets.committed()
        recorder.committed(records)
        recorder.step(TaskStep.COMMITTED, number, records=records)

    def abort(self) -> None:
        """Take back what was sent since the last commit, as far as that is possible."""
        if not self.open or self.abandoned:
            return
        number = self._current
        if self._plan.exactly_once:
            self._recorder.step(TaskStep.ABORT, number, records=self._recorder.open_records)
        self._output.commit_protocol.abort()
        self.open = False
        for sent in self._sent:
            sent.metadata = None
        if self._plan.exactly_once:
            self._recorder.step(TaskStep.ABORTED, number, records=self._recorder.open_records)
        self._recorder.open_records = 0

    def abort_abandoned(self, timeout: float) -> None:
        """Abort from another thread what was abandoned."""
        if self.open and self._plan.exactly_once:
            self._output.producer.abort_transaction(timeout)

    def _refuse_if_abandoned(self) -> None:
        if self.abandoned:
            raise InterruptedRunError(f"task {self._plan.id} was ended from outside")

    def abort_then_pass(self) -> None:
        """Discard what was sent, then commit the offsets behind it, so that it is not read again (BND-03)."""
        if not self.open:
            logger.warning("task %s asked to abort, but no record was sent since the last commit", self._plan.id)
        self.abort()
        self.commit()

    def _call_back(self) -> None:
        sent, self._sent = self._sent, []
        if self._commit_record is not None:
            for one in sent:
                self._logged(partial(self._commit_record, one.record, one.metadata))
        self._logged(self._source.commit)

    def _logged(self, call: Callable[[], None]) -> None:
        try:
            call()
        except Exception:  # the commit stands, whatever the connector thinks of it (TXN-05)
            logger.exception("task %s: a callback behind a commit failed; the commit stands", self._plan.id)
