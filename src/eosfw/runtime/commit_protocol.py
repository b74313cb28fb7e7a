"""End a batch of records, its offsets included, with or without a transaction."""

from __future__ import annotations

from typing import Protocol

from eosfw.concurrency import Runtime
from eosfw.errors import IndefiniteOutcomeError, RetriableError
from eosfw.protocols import TransactionalProducer

RETRY_PAUSE = 0.1
"""Kafka Connect's pause before it sends again."""


class CommitProtocol(Protocol):
    """How what was sent becomes final; in order: begin, send..., settle, send offsets, end."""

    def begin(self) -> None:
        """Before the first record."""

    def flush_records(self) -> None:
        """Before offsets are sent."""

    def commit(self) -> None:
        """Make all of it final."""

    def abort(self) -> None:
        """Make none of it final, as far as that is possible."""


class TransactionalCommit:
    """Records and offsets become visible together or not at all (KIP-618)."""

    def __init__(self, producer: TransactionalProducer, timeout: float, runtime: Runtime) -> None:
        self._producer, self._timeout, self._runtime = producer, timeout, runtime

    def begin(self) -> None:
        self._producer.begin_transaction()

    def flush_records(self) -> None:
        """Nothing: the commit waits for records and offsets alike."""

    def commit(self) -> None:
        deadline = self._runtime.now() + self._timeout
        while True:
            try:
                return self._producer.commit_transaction(max(deadline - self._runtime.now(), RETRY_PAUSE))
            except RetriableError as error:
                if self._runtime.now() + RETRY_PAUSE >= deadline:
                    raise IndefiniteOutcomeError(
                        f"no commit of transactional id {self._producer.transactional_id} "
                        f"within {self._timeout:g} s: {error}"
                    ) from error
                self._runtime.sleep(RETRY_PAUSE)

    def abort(self) -> None:
        self._producer.abort_transaction(self._timeout)


class AtLeastOnceCommit:
    """Records first, offsets behind them: after a crash between the two, records come again (at least once).

    The order of Kafka Connect's `WorkerSourceTask`.
    """

    def __init__(self, producer: TransactionalProducer, timeout: float) -> None:
        self._producer, self._timeout = producer, timeout

    def begin(self) -> None:
        """Nothing: records count as soon as they are there."""

    def flush_records(self) -> None:
        self._producer.flush(self._timeout)

    def commit(self) -> None:
        self._producer.flush(self._timeout)

    def abort(self) -> None:
        """Nothing can be taken back; the offsets stay where they were."""
