"""The producers of one partition, so that none of their batches is appended twice, late or out of order (KIP-98)."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from enum import Enum
from typing import Final, NamedTuple, NoReturn

from eosfw.ids import ProducerIdAndEpoch
from eosfw_memory.common.log_errors import (
    NonTransactionalBatchError,
    OutOfOrderSequenceNumberError,
    StaleProducerEpochError,
    TransactionCoordinatorFencedError,
)
from eosfw_memory.storage.log.verification_state import VerificationStateEntry
from eosfw_memory.storage.records.batch import (
    MAX_SEQUENCE,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    TRANSACTIONAL,
    BatchHeader,
    HeaderFields,
)

NUM_BATCHES_TO_RETAIN: Final = 5
"""As many requests as an idempotent producer may have in flight."""
NOT_OPEN: Final = -1
NO_COORDINATOR: Final = -1


class Origin(Enum):
    """Who asks for an append."""

    CLIENT = "client"
    """A producer: sequence numbers are checked, control batches refused."""
    COORDINATOR = "coordinator"
    """A coordinator writing for a producer, without sequence numbers (group offsets in a transaction)."""


class BatchMetadata(NamedTuple):
    """One of a producer's latest batches, to be known again when it is repeated."""

    base_sequence: int
    last_sequence: int
    base_offset: int
    last_offset: int
    timestamp: int


class ProducerStateEntry:
    """What one partition knows of one producer id; every append changes it."""

    __slots__ = ("coordinator_epoch", "epoch", "first_offset", "last_timestamp", "latest")

    def __init__(self, epoch: int) -> None:
        self.epoch = epoch
        self.coordinator_epoch = NO_COORDINATOR
        self.last_timestamp = NO_TIMESTAMP
        self.first_offset = NOT_OPEN
        """Where its open transaction begins."""
        # Every append adds one, few are read again: what follows from these four is computed when it is asked for.
        self.latest: deque[tuple[int, int, int, int]] = deque(maxlen=NUM_BATCHES_TO_RETAIN)
        """Base sequence, last offset delta, base offset and timestamp of each of `batches`."""

    @property
    def batches(self) -> list[BatchMetadata]:
        """Its latest batches, oldest first."""
        return [
            BatchMetadata(sequence, (sequence + delta) & MAX_SEQUENCE, offset, offset + delta, timestamp)
            for sequence, delta, offset, timestamp in self.latest
        ]

    @property
    def last_sequence(self) -> int:
        return self.batches[-1].last_sequence if self.latest else NO_SEQUENCE

    @property
    def next_sequence(self) -> int:
        """The sequence number that is due next; 0 in a new epoch."""
        if not self.latest:
            return 0
        sequence, delta, _, _ = self.latest[-1]
        return (sequence + delta + 1) & MAX_SEQUENCE

    def update_epoch(self, epoch: int) -> None:
        """Take an epoch; in a new one sequence numbers start at 0, and batches of the old one are no duplicates."""
        if epoch != self.epoch:
            self.epoch = epoch
            self.latest.clear()

    def duplicate_of(self, header: BatchHeader) -> BatchMetadata | None:
        """The batch that this one repeats, if it is among the latest five."""
        if header.producer_epoch != self.epoch:
            return None
        wanted = (header.base_sequence, header.last_sequence)
        return next((batch for batch in self.batches if batch[:2] == wanted), None)


class ProducerStateManager:
    """Every producer of one partition.

    Kafka's `ProducerStateManager`.
    """

    def __init__(self, states: dict[int, ProducerStateEntry] | None = None) -> None:
        self._states: dict[int, ProducerStateEntry] = {} if states is None else states
        self._verification_entries: dict[int, VerificationStateEntry] = {}

    def known(self) -> Mapping[int, ProducerStateEntry]:
        """Every producer by its id; read only."""
        return self._states

    def check_append(self, header: BatchHeader, origin: Origin) -> BatchMetadata | None:
        """Accept a batch (None), give the one it repeats, or raise; changes nothing (BRK-01 to BRK-04)."""
        state = self._states.get(header.producer_id)
        if state is None:
            self._check_verification_entry(header, nothing_known=True)
            return None  # BRK-03: unknown or forgotten, so any sequence number may be the next
        _check_epoch(state, header.producer_id, header.producer_epoch)
        if origin is Origin.CLIENT:
            # A newer epoch starts at 0 (KIP-360 lets a producer bump its epoch and number its batches anew).
            due = state.next_sequence if header.producer_epoch == state.epoch else 0
            if header.base_sequence != due:
                # A retry whose first answer was lost is answered again as it was, without an append.
                return state.duplicate_of(header) or _out_of_order(header, due)
            self._check_verification_entry(header, nothing_known=False)
        if state.first_offset != NOT_OPEN and not header.transactional:
            raise NonTransactionalBatchError(
                f"producer {header.producer_id} sent a batch outside any transaction while its transaction from offset "
                f"{state.first_offset} on is open: end that first"
            )
        return None

    def maybe_create_verification_entry(self, header: BatchHeader, now_ms: int, *, strict: bool) -> None:
        """Note a transactional batch that the coordinator has to confirm before its append.

        Kafka's `maybeCreateVerificationStateEntry`.
        """
        known = self._verification_entries.get(header.producer_id)
        if known is None:
            self._verification_entries[header.producer_id] = VerificationStateEntry(header, now_ms, strict=strict)
        else:
            known.update_lowest(header)

    def update(self, header: HeaderFields, base_offset: int) -> bool:
        """Add an appended batch; tell whether it began a transaction in this partition.

        Flat, and without the header's properties: a start after a crash does this millions of times.
        """
        _, _, _, _, _, attributes, delta, _, newest, producer_id, epoch, base_sequence, _ = header
        transactional = attributes & TRANSACTIONAL
        if transactional and self._verification_entries:
            self._verification_entries.pop(producer_id, None)
        state = self._states.get(producer_id)
        if state is None:
            state = self._states[producer_id] = ProducerStateEntry(epoch)
        elif epoch != state.epoch:
            state.update_epoch(epoch)
        state.last_timestamp = newest
        if base_sequence != NO_SEQUENCE:
            state.latest.append((base_sequence, delta, base_offset, newest))
        if transactional and state.first_offset == NOT_OPEN:
            state.first_offset = base_offset
            return True
        return False

    def expire(self, before_ms: int) -> list[int]:
        """Forget the producers that wrote nothing since, unless a transaction of theirs is open (BRK-08); name them."""
        self._verification_entries = {
            pid: entry for pid, entry in self._verification_entries.items() if entry.since_ms > before_ms
        }
        old = [
            producer_id
            for producer_id, state in self._states.items()
            if state.last_timestamp <= before_ms and state.first_offset == NOT_OPEN
        ]
        for producer_id in old:
            del self._states[producer_id]
        return old

    def check_epoch(self, producer_id: int, epoch: int) -> None:
        """Raise when a newer holder of the producer id has written (BRK-01)."""
        state = self._states.get(producer_id)
        if state is not None:
            _check_epoch(state, producer_id, epoch)

    def check_marker(self, producer: ProducerIdAndEpoch, coordinator_epoch: int) -> None:
        """Raise when a marker comes from an older producer epoch or an older coordinator (BRK-05)."""
        state = self._states.get(producer.producer_id)
        if state is None:
            return
        _check_epoch(state, producer.producer_id, producer.epoch)
        if coordinator_epoch < state.coordinator_epoch:
            raise TransactionCoordinatorFencedError(
                f"a marker for producer {producer.producer_id} comes from coordinator epoch {coordinator_epoch}, "
                f"but epoch {state.coordinator_epoch} has written one"
            )

    def complete_transaction(self, producer: ProducerIdAndEpoch, coordinator_epoch: int, now_ms: int) -> int:
        """Add an appended marker; give the first offset of the transaction it ended, or NOT_OPEN."""
        if self._verification_entries:
            self._verification_entries.pop(producer.producer_id, None)
        state = self._states.get(producer.producer_id)
        if state is None:
            state = self._states[producer.producer_id] = ProducerStateEntry(producer.epoch)
        # NOT_OPEN in a partition that was added to the transaction but never written to: it gets a marker all the same.
        ended, state.first_offset = state.first_offset, NOT_OPEN
        # A marker may be the first to carry a newer epoch: where a coordinator fences, always with KIP-890's version 2.
        state.update_epoch(producer.epoch)
        state.coordinator_epoch = coordinator_epoch
        state.last_timestamp = now_ms
        return ended

    def _check_verification_entry(self, header: BatchHeader, *, nothing_known: bool) -> None:
        entry = self._verification_entries.get(header.producer_id) if self._verification_entries else None
        due = None if entry is None else entry.expected_sequence(header, nothing_known=nothing_known)
        if due is not None:
            _out_of_order(header, due)


def _check_epoch(state: ProducerStateEntry, producer_id: int, epoch: int) -> None:
    if epoch < state.epoch:
        raise StaleProducerEpochError(
            f"producer {producer_id} writes with epoch {epoch}, but its epoch {state.epoch} has written here: "
            "a newer producer replaced, and so fenced, this one"
        )


def _out_of_order(header: BatchHeader, due: int) -> NoReturn:
    raise OutOfOrderSequenceNumberError(
        f"producer {header.producer_id}, epoch {header.producer_epoch}: "
        f"sequence number {header.base_sequence} came where {due} was due"
    )
