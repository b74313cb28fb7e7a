"""Decide what a request does to a transactional id.

Every function is pure: it gets what is known and returns either the metadata to be logged next, or the code to answer
without logging anything (`Code.NONE` when the request is already fulfilled).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw_memory.codes import Code
from eosfw_memory.coordinators.metadata import (
    LAST_CLIENT_EPOCH,
    NO_EPOCH,
    NO_PRODUCER_ID,
    NOT_STARTED,
    TransactionMetadata,
)
from eosfw_memory.coordinators.states import PREPARED, Outcome, TransactionState

Decision: TypeAlias = TransactionMetadata | Code

_S = TransactionState
_NOWHERE: frozenset[TopicPartition] = frozenset()
_PREPARING = frozenset({_S.PREPARE_COMMIT, _S.PREPARE_ABORT})
_AT_REST = frozenset({_S.EMPTY, _S.COMPLETE_COMMIT, _S.COMPLETE_ABORT})

_END_ANSWERS: dict[tuple[TransactionState, Outcome], Code] = {
    (_S.COMPLETE_COMMIT, Outcome.COMMIT): Code.NONE,
    (_S.COMPLETE_ABORT, Outcome.ABORT): Code.NONE,
    (_S.PREPARE_COMMIT, Outcome.COMMIT): Code.CONCURRENT_TRANSACTIONS,
    (_S.PREPARE_ABORT, Outcome.ABORT): Code.CONCURRENT_TRANSACTIONS,
}
"""COR-08: the end was asked for before; every other end of a transaction that is not ongoing is InvalidTxnState."""


def initialise(
    known: TransactionMetadata,
    expected: ProducerIdAndEpoch | None,
    timeout_ms: int,
    now_ms: int,
    fresh_producer_id: Callable[[], int],
) -> Decision:
    """Take over a transactional id (COR-02 to 05); PrepareEpochFence next means: abort, come again."""
    if expected is not None and not _may_continue(known, expected):
        return Code.PRODUCER_FENCED
    if known.state in _PREPARING:
        return Code.CONCURRENT_TRANSACTIONS
    if known.state is _S.ONGOING:
        return fenced(known)
    if known.exhausted and (expected is None or expected.epoch == known.epoch):
        return _rotated(known, fresh_producer_id(), timeout_ms, now_ms, recall=expected is not None)
    return _bumped(known, expected, timeout_ms, now_ms)


def _may_continue(known: TransactionMetadata, expected: ProducerIdAndEpoch) -> bool:
    """KIP-360: whether a client that says who it was may be a holder of the id, past or present."""
    if known.epoch == NO_EPOCH or expected.producer_id == known.producer_id:
        return True
    # The answer to a rotation may have been lost: the client then still has the last epoch of the old producer id.
    return expected.producer_id == known.previous_producer_id and expected.epoch >= LAST_CLIENT_EPOCH


def _bumped(known: TransactionMetadata, expected: ProducerIdAndEpoch | None, timeout_ms: int, now_ms: int) -> Decision:
    if expected is None:
        return _emptied(known, known.epoch + 1, NO_EPOCH, timeout_ms, now_ms)
    if known.epoch in (NO_EPOCH, expected.epoch):
        return _emptied(known, known.epoch + 1, known.epoch, timeout_ms, now_ms)
    if expected.epoch == known.last_epoch:
        return _emptied(known, known.epoch, known.last_epoch, timeout_ms, now_ms)
    return Code.PRODUCER_FENCED


def _emptied(
    known: TransactionMetadata, epoch: int, last_epoch: int, timeout_ms: int, now_ms: int
) -> TransactionMetadata:
    return known.moved(
        _S.EMPTY,
        epoch=epoch,
        last_epoch=last_epoch,
        timeout_ms=timeout_ms,
        partitions=_NOWHERE,
        started_ms=NOT_STARTED,
        updated_ms=now_ms,
    )


def _rotated(
    known: TransactionMetadata, producer_id: int, timeout_ms: int, now_ms: int, *, recall: bool
) -> TransactionMetadata:
    last = known.epoch if recall else NO_EPOCH
    renamed = known._replace(producer_id=producer_id, previous_producer_id=known.producer_id)
    return _emptied(renamed, 0, last, timeout_ms, now_ms)


def fenced(known: TransactionMetadata) -> TransactionMetadata:
    """Raise the epoch of an ongoing transaction above its holder's; nobody is ever given this epoch."""
    return known.moved(_S.PREPARE_EPOCH_FENCE, epoch=known.epoch + 1, last_epoch=NO_EPOCH)


def add_partitions(
    known: TransactionMetadata | None,
    producer: ProducerIdAndEpoch,
    partitions: frozenset[TopicPartition],
    now_ms: int,
) -> Decision:
    """Let a transaction touch more partitions, starting it if need be (COR-06)."""
    if known is None or known.producer_id != producer.producer_id:
        return Code.INVALID_PRODUCER_ID_MAPPING
    if known.epoch != producer.epoch:
        return Code.PRODUCER_FENCED
    if known.state in _PREPARING:
        return Code.CONCURRENT_TRANSACTIONS
    if known.state is _S.ONGOING and partitions <= known.partitions:
        return Code.NONE
    started_ms = now_ms if known.state in _AT_REST else known.started_ms
    return known.moved(_S.ONGOING, partitions=known.partitions | partitions, started_ms=started_ms, updated_ms=now_ms)


def end(known: TransactionMetadata | None, producer: ProducerIdAndEpoch, outcome: Outcome, now_ms: int) -> Decision:
    """Decide a transaction as its holder wishes (COR-08)."""
    if known is None or known.producer_id != producer.producer_id:
        return Code.INVALID_PRODUCER_ID_MAPPING
    # Strictly equal: only the coordinator bumps epochs (KAFKA-9600).
    if known.epoch != producer.epoch:
        return Code.PRODUCER_FENCED
    if known.state is _S.ONGOING:
        return known.moved(PREPARED[outcome], updated_ms=now_ms)
    return _END_ANSWERS.get((known.state, outcome), Code.INVALID_TXN_STATE)


def shut_out(known: TransactionMetadata, now_ms: int) -> TransactionMetadata:
    """Abort an ongoing transaction with a raised epoch, so that its holder can neither write nor commit (COR-15)."""
    return aborted(fenced(known), now_ms)


def aborted(shut: TransactionMetadata, now_ms: int) -> TransactionMetadata:
    """Abort a transaction whose epoch was raised."""
    return shut.moved(_S.PREPARE_ABORT, updated_ms=now_ms)


def verify(known: TransactionMetadata | None, producer: ProducerIdAndEpoch, partition: TopicPartition) -> Code:
    """Say whether a transactional write to this partition belongs to the producer's transaction (KIP-890)."""
    if known is None or known.producer_id != producer.producer_id:
        return Code.INVALID_PRODUCER_ID_MAPPING
    if known.epoch != producer.epoch:
        return Code.PRODUCER_FENCED
    if known.state in _PREPARING:
        return Code.CONCURRENT_TRANSACTIONS
    inside = known.state is _S.ONGOING and partition in known.partitions
    return Code.NONE if inside else Code.TRANSACTION_ABORTABLE


def created(transactional_id: str, producer_id: int, timeout_ms: int) -> TransactionMetadata:
    """The metadata of an id nobody has used yet; its first initialisation makes the epoch 0."""
    return TransactionMetadata(transactional_id, producer_id, NO_EPOCH, timeout_ms, previous_producer_id=NO_PRODUCER_ID)
