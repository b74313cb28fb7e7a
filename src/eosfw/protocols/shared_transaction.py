"""The contract of a transaction in which several processes write and that one of them ends.

A transaction belongs to a transactional id, a producer id and an epoch, not to a connection (KIP-98). So whoever knows
these three can write in it. `docs/explanation/shared-transactions.md` says what makes that safe.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw.records import ProducerBatch


@dataclass(frozen=True, slots=True)
class TransactionHandle:
    """What one writer needs to write in an open transaction; it can be pickled and sent to another process.

    It may be attached once. Sequence numbers start at 0 in each partition, so a second writer with the same handle
    repeats the numbers of the first, and its records are taken for a repetition and dropped, yet acknowledged.
    """

    transactional_id: str
    producer: ProducerIdAndEpoch
    transaction_version: int
    """The version of transactions (KIP-890); from 2 on a batch adds its partition by itself."""
    writer: int
    """The number of the writer within the transaction."""
    partitions: frozenset[TopicPartition]
    """The partitions that this writer, and nobody else, may write to."""


@dataclass(frozen=True, slots=True)
class AcknowledgedWrite:
    """What one writer has written, all of it acknowledged; it writes nothing more."""

    writer: int
    producer: ProducerIdAndEpoch
    records: Mapping[TopicPartition, int]
    """How many records are in each partition that it wrote to."""


class SharedTransaction(Protocol):
    """One transaction, from the side of the process that begins and ends it; an object is used for one alone.

    The order is: `begin`, `share`, then own records, `commit` or `abort`. Each transaction initialises the
    transactional id, so that its epoch is never that of an earlier one.
    """

    transactional_id: str

    def begin(self, timeout: float) -> None:
        """Take over the transactional id: fence its earlier holder and all who write for it, finish what is open.

        UnsupportedError, before anything is changed, if a broker would append what arrives after a transaction's end.
        """

    def share(self, partitions: Sequence[Collection[TopicPartition]], timeout: float) -> Sequence[TransactionHandle]:
        """Give each writer the partitions that only it writes to; the handles are in the same order.

        IllegalStateError if two writers have a partition in common, or if it was called before.
        """

    def send_batch(self, batch: ProducerBatch) -> None:
        """Accept own records for a partition that no writer has."""

    def commit(self, writes: Collection[AcknowledgedWrite], timeout: float) -> None:
        """Commit what the writers and this process wrote.

        IllegalStateError, after which `abort` is still possible, unless every writer has reported exactly once.
        """

    def abort(self, timeout: float) -> None:
        """Abort; what a writer sends afterwards is refused."""

    def close(self) -> None:
        """Close at once; an open transaction waits for its timeout or its next holder."""


class AttachedProducer(Protocol):
    """Writes in a transaction that another process began and will end; for one thread.

    After an error every call but `close` raises, and the transaction must be aborted.
    """

    def send_batch(self, batch: ProducerBatch) -> None:
        """Accept records for one of the handle's partitions; IllegalStateError for any other."""

    def flush(self, timeout: float) -> None:
        """Wait until every accepted record is acknowledged."""

    def finish(self, timeout: float) -> AcknowledgedWrite:
        """Flush, and report; nothing can be sent afterwards."""

    def close(self) -> None:
        """Close at once; what was not delivered is dropped."""


class SharedTransactions(Protocol):
    """What a backend with the capability `shared_transactions` offers besides `Backend`."""

    def shared_transaction(
        self,
        transactional_id: str,
        *,
        transaction_timeout: float = 60.0,
        properties: Mapping[str, str] | None = None,
    ) -> SharedTransaction:
        """Make the object that begins and ends one transaction."""

    def attach(self, handle: TransactionHandle, *, properties: Mapping[str, str] | None = None) -> AttachedProducer:
        """Make a writer in a transaction that is open."""
