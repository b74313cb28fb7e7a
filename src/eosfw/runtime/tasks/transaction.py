"""The transactions of a task: records, then the source offsets after them, then the commit."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial

from eosfw.concurrency import Runtime
from eosfw.connectors import CommitsRecords, SourceTask
from eosfw.errors import (
    ClusterUnavailableError,
    EosfwError,
    InterruptedRunError,
    RetriableError,
    TaskFailedError,
    described,
)
from eosfw.identity import IdentityHeaders
from eosfw.protocols import TransactionalProducer
from eosfw.records import ProducerBatch, ProducerRecord, RecordMetadata, SourceRecord
from eosfw.runtime.records.poll_result import offsets_lacking
from eosfw.runtime.storage.connector_offset_backing_store import ConnectorOffsetBackingStore
from eosfw.runtime.storage.topic_creation import RecordTopics, timed_out
from eosfw.runtime.tasks.commit_protocol import RETRY_PAUSE, CommitInFlight, CommitProtocol, OffsetFlushTimeoutError
from eosfw.runtime.tasks.plan import TaskPlan
from eosfw.runtime.tasks.status_recorder import TaskStatusRecorder
from eosfw.state.steps import TaskStep
from eosfw.state.storage.combined_offsets import OffsetChange
from eosfw.state.storage.pending_offsets import PendingOffsets
from eosfw.state.tasks.poll_batch import PollBatch

logger = logging.getLogger(__name__)

_LONGEST_BUFFERED = 0.5
"""Seconds that records without exactly-once may wait in a producer that has no thread to deliver them.

After each poll would be too often for producers that deliver while the next one is under way.
"""


class _SentBatch:
    """A batch of a task with `commit_record`, with the place of each delivered record."""

    def __init__(self, batch: PollBatch) -> None:
        self._batch = batch
        self._metadata: list[RecordMetadata | None] = [None] * len(batch)

    def delivered(self, at: int, metadata: RecordMetadata | None, error: EosfwError | None) -> None:
        self._metadata[at if self._batch.kept is None else self._batch.kept[at]] = metadata

    def aborted(self) -> None:
        self._metadata = [None] * len(self._batch)

    def records(self) -> Iterator[tuple[SourceRecord, RecordMetadata | None]]:
        """Each record with its place; None for a record that was aborted or dropped."""
        return zip(self._batch.records(), self._metadata, strict=True)


@dataclass(frozen=True, slots=True)
class TaskOutput:
    """What a task needs to write: the producer and its commit protocol, the topics, the offsets."""

    producer: TransactionalProducer
    commit_protocol: CommitProtocol
    topics: RecordTopics
    offsets: ConnectorOffsetBackingStore
    pending_offsets: PendingOffsets
    runtime: Runtime


class SourceTaskTransaction:
    """The open transaction of a task, if there is one; used by the task's thread, and while that polls by its commit.

    It does what Kafka Connect's `ExactlyOnceWorkerSourceTask` adds to the loop of a task.
    """

    def __init__(self, plan: TaskPlan, output: TaskOutput, recorder: TaskStatusRecorder, source: SourceTask) -> None:
        self._plan, self._output, self._recorder, self._source = plan, output, recorder, source
        self._commit_record = source.commit_record if isinstance(source, CommitsRecords) else None
        self._overlaps = plan.commit_overlap and self._commit_record is None
        if plan.commit_overlap and not self._overlaps:
            logger.info("task %s commits before it polls again: it defines commit_record", plan.id)
        self._in_flight: CommitInFlight | None = None
        self._sent: list[_SentBatch] = []
        self._number, self._began = 0, 0.0
        self._buffered, self._flushed_at = False, 0.0
        self.open = False
        self.abandoned = False
        """Set by another thread that will abort: the task's own thread then leaves the producer alone."""
        self._identity = IdentityHeaders(plan.id.connector) if plan.identity_headers else None
        self.record_offsets = self._commit_record is not None or self._identity is not None
        """Whether a batch must state the offset after each record."""

    @property
    def _current(self) -> int | None:
        return self._number if self.open and self._plan.exactly_once else None

    # --- sending

    def send(self, batches: Sequence[PollBatch]) -> None:
        """Send batches in order, then keep the offsets after them (TXN-04).

        An empty batch, or one whose records were all dropped, only moves the offset.
        """
        # All of them first: a batch without the offsets that it needs is refused before anything is sent.
        outputs = [(batch, self._with_identity(batch)) for batch in batches if len(batch)]
        if sent := [columns for _, columns in outputs if len(columns)]:
            self._before_send(sent)
        for batch, columns in outputs:
            self._send(batch, columns)
        # After all sends, so that one that failed moves no offset.
        for batch in batches:
            for partition, offset in batch.positions:
                self._output.pending_offsets.note(partition, offset)

    def _before_send(self, outputs: Sequence[ProducerBatch]) -> None:
        self._refuse_if_abandoned()
        for topic in dict.fromkeys(columns.topic for columns in outputs):
            self._admit(topic)
        if not self.open:
            self._begin()
        count = sum(map(len, outputs))
        self._recorder.step(TaskStep.SEND, self._current, records=count, topic=outputs[0].topic)
        self._recorder.open_records += count

    def _admit(self, topic: str) -> None:
        # At its next start the task reads that topic to its end, and would wait for its own transaction (TXN-15).
        if topic == self._plan.offset_topics.topic.name:
            raise TaskFailedError(
                f"task {self._plan.id} returned a record for {topic!r}, its own offsets topic; send it elsewhere"
            )
        topics = self._output.topics
        if not topics.knows(topic):
            # Before begin: the admin client may wait for the cluster for long, and a transaction would be open all the
            # time.
            try:
                self._retried(partial(topics.ensure, topic))
            except RetriableError as why:
                raise ClusterUnavailableError(timed_out(topic)) from why
        topics.used(topic)

    def _begin(self) -> None:
        if self._plan.exactly_once:
            self._recorder.step(TaskStep.BEGIN, self._number + 1)
        self._output.commit_protocol.begin()
        self._number += 1
        self._began = self._output.runtime.now()
        self.open = True

    def overran_timeout(self) -> bool:
        """Whether the open transaction, if there is one, has been open for its whole timeout."""
        return self.open and self._output.runtime.now() - self._began >= self._plan.transaction_timeout

    def _with_identity(self, batch: PollBatch) -> ProducerBatch:
        """The columns to send, with the headers that identify each record if the connector is configured for them."""
        if batch.source_offsets is None:
            if self._commit_record is not None or (self._identity is not None and self._plan.identity_named):
                raise TaskFailedError(offsets_lacking(self._plan.id))
            return batch.columns
        if self._identity is None:
            return batch.columns
        partitions, offsets = batch.kept_of(batch.source_partitions), batch.kept_of(batch.source_offsets)
        headers = self._identity.column(partitions, offsets, batch.columns.headers)
        return replace(batch.columns, headers=headers)

    def _send(self, batch: PollBatch, columns: ProducerBatch) -> None:
        sent = None if self._commit_record is None else _SentBatch(batch)
        if len(columns):
            on_delivery = () if sent is None else (sent.delivered,)
            self._retried(partial(self._output.producer.send_batch, columns, *on_delivery))
            self._buffered = True
        if sent is not None:
            self._sent.append(sent)

    def deliver(self) -> None:
        """Have readers see what was sent without exactly-once, whose offsets may be committed much later."""
        if self._plan.exactly_once or not self._buffered or self._in_flight is not None:
            return
        if self._output.runtime.now() - self._flushed_at < _LONGEST_BUFFERED:
            return
        try:
            self._flush_records()
        except OffsetFlushTimeoutError as late:  # the commit of their offsets waits for them as well, and reports it
            logger.debug("task %s: %s", self._plan.id, late)

    def _flush_records(self) -> None:
        self._flushed_at = self._output.runtime.now()
        self._output.commit_protocol.flush_records()
        self._buffered = False

    def _retried(self, send: Callable[[], None]) -> None:
        """Repeat a send, or what comes before it, that raised RetriableError; a transaction stays open (TXN-09)."""
        # Longer makes no sense: the coordinator has aborted the transaction by then.
        deadline = self._output.runtime.now() + self._plan.transaction_timeout
        while True:
            try:
                return send()
            except RetriableError:
                if self._output.runtime.now() + RETRY_PAUSE >= deadline:
                    raise
                self._output.runtime.sleep(RETRY_PAUSE)

    # --- ending

    def commit(self, *, overlap: bool = False) -> None:
        """Commit what was sent with the offsets after it, then call the task's callbacks, even if nothing was sent.

        With `overlap`, if the task is configured for it, the commit goes on beside the task's next poll: call
        `await_commit` before anything else. Without exactly-once a flush that takes too long is given up; its offsets
        are those of the next one.
        """
        try:
            self._commit(overlap=overlap)
        except OffsetFlushTimeoutError as late:
            logger.warning("task %s could not commit offsets, it tries again: %s", self._plan.id, late)

    def _commit(self, *, overlap: bool) -> None:
        changes = self._output.pending_offsets.begin_flush()
        with self._recombined_on_error():
            if self.open or changes:
                self._send_offsets(changes)
        if self.open and overlap and self._overlaps:
            end = partial(self._end, changes, self._recorder.announce)
            # From here on the producer is that thread's, until `await_commit`: clients allow one thread at a time.
            self._in_flight = CommitInFlight(f"eosfw-{self._plan.id}-commit", end, self._output.runtime)
            return
        self._end(changes, self._recorder.step)
        self._call_back()

    @contextmanager
    def _recombined_on_error(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self._output.pending_offsets.cancel_flush()
            raise

    def _send_offsets(self, changes: Sequence[OffsetChange]) -> None:
        output = self._output
        records = self._encode(changes)
        self._refuse_if_abandoned()
        if not self.open:
            self._begin()
        self._flush_records()
        # Half of the timeout: the transaction is open by now, and its commit has to fit into the rest.
        output.offsets.before_commit(changes, self._plan.transaction_timeout / 2)
        self._recorder.step(TaskStep.SEND_OFFSETS, self._current, records=len(records))
        for record in records:
            self._retried(partial(output.producer.send, record))

    def _encode(self, changes: Sequence[OffsetChange]) -> Sequence[ProducerRecord]:
        """The records of the offsets; one that cannot be encoded raises before anything is committed (TXN-05)."""
        try:
            return self._output.offsets.encode(changes)
        except Exception as error:
            logger.critical("task %s cannot store its source offsets, so it commits nothing: %s", self._plan.id, error)
            raise

    def _end(self, changes: Sequence[OffsetChange], announce: Callable[..., None]) -> None:
        """Commit what is open; on the task's thread, or beside it while it polls."""
        output, number, records = self._output, self._current, self._recorder.open_records
        with self._recombined_on_error():
            if self.open:
                announce(TaskStep.COMMIT, number, records=records)
                output.commit_protocol.commit()
        # Only now: had the commit failed, these offsets would be part of the next flush again.
        output.pending_offsets.complete_flush()
        if self.open:
            self.open = False
            output.offsets.after_commit(changes)
            self._recorder.committed(records)
            announce(TaskStep.COMMITTED, number, records=records)

    def await_commit(self) -> None:
        """Wait for the commit that overlaps a poll, if one does; raise its error, or call the task's callbacks."""
        if self._in_flight is None:
            return
        try:
            self._in_flight.wait()
        finally:
            self._in_flight = None
        self._call_back()

    def abort(self) -> None:
        """Discard what was sent since the last commit, as far as that is possible."""
        if not self.open or self.abandoned:
            return
        number = self._current
        if self._plan.exactly_once:
            self._recorder.step(TaskStep.ABORT, number, records=self._recorder.open_records)
        self._output.commit_protocol.abort()
        self.open = False
        # They stay, without their places: `commit_record` hears of every record, also of one that was discarded.
        for sent in self._sent:
            sent.aborted()
        if self._plan.exactly_once:
            self._recorder.step(TaskStep.ABORTED, number, records=self._recorder.open_records)
        self._recorder.open_records = 0

    def abort_abandoned(self, timeout: float) -> None:
        """Abort the abandoned transaction; called by another thread."""
        # A commit in flight uses the producer: its transaction ends by itself, or with the producer.
        if self.open and self._plan.exactly_once and self._in_flight is None:
            self._output.producer.abort_transaction(timeout)

    def _refuse_if_abandoned(self) -> None:
        if self.abandoned:
            raise InterruptedRunError(f"task {self._plan.id} was ended from outside")

    def abort_then_pass(self) -> None:
        """Discard what was sent, then commit the offsets after it, so that it is not read again (BND-03)."""
        if not self.open:
            logger.warning("task %s asked to abort, but no record was sent since the last commit", self._plan.id)
        else:
            records = self._recorder.open_records
            logger.info(
                "task %s aborts its transaction with %d records, as its connector asked", self._plan.id, records
            )
        self.abort()
        self.commit()

    def _call_back(self) -> None:
        sent, self._sent = self._sent, []
        if self._commit_record is not None:
            for batch in sent:
                for record, metadata in batch.records():
                    self._logged(partial(self._commit_record, record, metadata))
        self._logged(self._source.commit)

    def _logged(self, call: Callable[[], None]) -> None:
        try:
            call()
        except Exception as error:  # the commit is done, whatever the connector raises (TXN-05)
            shown = self._recorder.redacted(error)
            said = "task %s: a callback behind a commit failed; the commit stands: %s"
            logger.error(said, self._plan.id, described(shown), exc_info=shown)  # noqa: TRY400 the one without secrets
