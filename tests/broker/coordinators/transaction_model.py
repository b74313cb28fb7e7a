"""A model of transactions, independent of the broker's implementation, for the state machines."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

from eosfw.ids import ProducerIdAndEpoch
from eosfw_memory.storage.records.transaction_result import TransactionResult


@dataclass(eq=False)
class TransactionStep:
    """One transaction: what was written, which offsets were committed, what became of it (None: nothing yet)."""

    written: list[tuple[int, int, bytes]] = field(default_factory=list)
    """Partition, offset, value."""
    offsets: dict[int, tuple[int, int]] = field(default_factory=dict)
    """When, and which offset, by partition."""
    outcome: TransactionResult | None = None


@dataclass(eq=False)
class Writer:
    """A client with its producer id and epoch, which a newer producer may have fenced."""

    producer: ProducerIdAndEpoch
    overtaken: bool = False
    """Another producer owns the id, so requests of this one must have no effect."""


class Model:
    """One transactional id, one group: its transactions in their order."""

    def __init__(self) -> None:
        self.deeds: list[TransactionStep] = []
        self.outside = TransactionStep(outcome=TransactionResult.COMMIT)
        """What was written outside of any transaction."""
        self.last: TransactionResult | None = None
        """How the transaction before ended, whether it wrote anything or not."""
        self._committed: dict[int, tuple[int, int]] = {}
        self._moments = itertools.count()
        self._writers: set[tuple[int, ProducerIdAndEpoch]] = set()

    @property
    def open(self) -> TransactionStep | None:
        """The transaction that is not decided."""
        return self.deeds[-1] if self.deeds and self.deeds[-1].outcome is None else None

    def write(
        self, partition: int, offset: int, value: bytes, producer: ProducerIdAndEpoch, *, transactional: bool = True
    ) -> None:
        """A record was appended, in the open transaction or outside of any."""
        (self._begun() if transactional else self.outside).written.append((partition, offset, value))
        self._writers.add((partition, producer))

    def newest(self, partition: int, producer_id: int) -> int:
        """The latest epoch of a producer that has written to a partition; -1 if none has."""
        return max(
            (each.epoch for where, each in self._writers if (where, each.producer_id) == (partition, producer_id)),
            default=-1,
        )

    def commit_offset(self, partition: int, offset: int, *, transactional: bool) -> None:
        """The group has read so far; in a transaction that counts with its commit, as of now."""
        (self._begun().offsets if transactional else self._committed)[partition] = next(self._moments), offset

    def end(self, outcome: TransactionResult) -> None:
        """The open transaction is decided."""
        self.last = outcome
        if self.open is None:
            return
        self.open.outcome = outcome
        if outcome is TransactionResult.COMMIT:
            for partition, (moment, offset) in self.deeds[-1].offsets.items():
                # Whoever committed last counts, by the order in the log (GRP-01).
                self._committed[partition] = max(self._committed.get(partition, (-1, -1)), (moment, offset))

    def committed(self, partition: int, stable: int) -> list[tuple[int, bytes]]:
        """What a reader at read_committed sees."""
        return sorted(
            (offset, value)
            for deed in (self.outside, *self.deeds)
            if deed.outcome is TransactionResult.COMMIT
            for where, offset, value in deed.written
            if where == partition and offset < stable
        )

    def written(self, partition: int) -> list[tuple[int, bytes]]:
        """What a reader at read_uncommitted sees."""
        return sorted(
            (offset, value)
            for deed in (self.outside, *self.deeds)
            for where, offset, value in deed.written
            if where == partition
        )

    def first_undecided(self, partition: int) -> int | None:
        """Where the open transaction begins."""
        held = [] if self.open is None else [offset for where, offset, _ in self.open.written if where == partition]
        return min(held, default=None)

    def group_offset(self, partition: int) -> int:
        """What the group has committed; -1 for nothing."""
        return self._committed.get(partition, (-1, -1))[1]

    def pending(self, partition: int) -> bool:
        """Whether the open transaction may change that."""
        return self.open is not None and partition in self.open.offsets

    def _begun(self) -> TransactionStep:
        if self.open is None:
            self.deeds.append(TransactionStep())
        return self.deeds[-1]
