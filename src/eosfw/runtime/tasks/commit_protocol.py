"""How a task commits records with their source offsets: in a transaction, or without one."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import copy_context
from typing import Protocol

from eosfw.concurrency import Runtime
from eosfw.errors import IndefiniteOutcomeError, RetriableError
from eosfw.protocols import TransactionalProducer

RETRY_PAUSE = 0.1
"""Seconds before a failed call is repeated; Kafka Connect pauses as long."""


class OffsetFlushTimeoutError(RetriableError):
    """Without exactly-once: a flush took longer than `offset.flush.timeout.ms`; the next one includes what it had."""


class CommitProtocol(Protocol):
    """The calls around the records of one commit, in order: begin, send..., flush_records, send offsets, commit."""

    def begin(self) -> None:
        """Called before the first record is sent."""

    def flush_records(self) -> None:
        """Called after the records and before the offsets are sent."""

    def commit(self) -> None:
        """Commit everything that was sent since `begin`."""

    def abort(self) -> None:
        """Discard everything that was sent since `begin`, as far as that is possible."""


class TransactionalCommit:
    """Commits records and offsets in one transaction (Kafka Connect's `ExactlyOnceWorkerSourceTask`)."""

    def __init__(self, producer: TransactionalProducer, timeout: float, runtime: Runtime) -> None:
        self._producer, self._timeout, self._runtime = producer, timeout, runtime

    def begin(self) -> None:
        self._producer.begin_transaction()

    def flush_records(self) -> None:
        """Do nothing: the commit waits for records and offsets alike."""

    def commit(self) -> None:
        deadline = self._runtime.now() + self._timeout
        while True:
            try:
                # A commit may be repeated: a coordinator that has decided it answers as it did before.
                return self._producer.commit_transaction(max(deadline - self._runtime.now(), RETRY_PAUSE))
            except RetriableError as error:
                if self._runtime.now() + RETRY_PAUSE >= deadline:
                    # Nobody may abort now, or send again: at the next start the committed offsets say what happened.
                    raise IndefiniteOutcomeError(
                        f"no commit of transactional id {self._producer.transactional_id} "
                        f"within {self._timeout:g} s: {error}"
                    ) from error
                self._runtime.sleep(RETRY_PAUSE)

    def abort(self) -> None:
        self._producer.abort_transaction(self._timeout)


class AtLeastOnceCommit:
    """Delivers the records first, then the offsets: after a crash between the two, records are sent again.

    This is the order of Kafka Connect's `WorkerSourceTask`.
    """

    def __init__(self, producer: TransactionalProducer, timeout: float) -> None:
        self._producer, self._timeout = producer, timeout

    def begin(self) -> None:
        """Do nothing: a record counts as soon as it is delivered."""

    def flush_records(self) -> None:
        self._flush()

    def commit(self) -> None:
        self._flush()

    def _flush(self) -> None:
        try:
            self._producer.flush(self._timeout)
        except RetriableError as error:
            # The producer is kept: its records are in its buffer, and the next flush waits for the same ones.
            raise OffsetFlushTimeoutError(f"not delivered within {self._timeout:g} s: {error}") from error

    def abort(self) -> None:
        """Do nothing: records cannot be taken back, and the committed offsets stay where they were."""


class CommitInFlight:
    """A commit on a thread of its own, while its task polls."""

    def __init__(self, name: str, commit: Callable[[], None], runtime: Runtime) -> None:
        self._commit = commit
        self._error: BaseException | None = None
        # A thread for each commit: a new thread runs at once, up to the call that waits for the cluster, whereas one
        # that waits in a queue would not get the interpreter from a source that computes (5 ms by default).
        context = copy_context()  # log records of that thread are about the same task
        self._thread = runtime.spawn(name, lambda: context.run(self._run))

    def _run(self) -> None:
        try:
            self._commit()
        except BaseException as error:  # noqa: BLE001 raised where the task waits for it
            self._error = error

    def wait(self) -> None:
        """Wait for its end, and raise its error; the deadline is that of the commit."""
        self._thread.join()
        if self._error is not None:
            raise self._error
