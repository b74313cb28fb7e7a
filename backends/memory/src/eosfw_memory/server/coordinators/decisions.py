"""Decide what a request does to a transactional id.

Every function is pure: it gets what is known and returns either the metadata to be logged next, or the code to answer
without logging anything (`Code.NONE` when the request is already fulfilled).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from typing import TypeAlias

from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw_memory.common.codes import Code
from eosfw_memory.server.coordinators.transaction_metadata import (
    LAST_CLIENT_EPOCH,
    LAST_EPOCH,
    NO_EPOCH,
    NO_PRODUCER_ID,
    NOT_STARTED,
    TV_0,
    TV_2,
    TransactionMetadata,
)
from eosfw_memory.server.coordinators.transaction_state import AT_REST, COMPLETED, PREPARED, TransactionState, advance
from eosfw_memory.storage.records.transaction_result import TransactionResult

Decision: TypeAlias = TransactionMetadata | Code

_S = TransactionState
_NONE = Code.NONE
_NOWHERE: frozenset[TopicPartition] = frozenset()
_PREPARING = frozenset({_S.PREPARE_COMMIT, _S.PREPARE_ABORT})

_REPEATED_ENDS = frozenset(
    {(_S.COMPLETE_COMMIT, TransactionResult.COMMIT), (_S.COMPLETE_ABORT, TransactionResult.ABORT)}
)
"""COR-08: the end was asked for before; any other end of what is not open is InvalidTxnState."""


class _Claim(Enum):
    """Who asks for an end that raises the epoch (KIP-890), since that changes what an epoch means."""

    HOLDER = "holder"
    """A client with the current epoch: it ends the current transaction."""
    REPEATED = "repeated"
    """A client with the epoch before: it repeats a request for an end that was decided."""


_BUMPING_ENDS: dict[tuple[TransactionState, TransactionResult, _Claim], Code | TransactionState] = {
    (_S.ONGOING, TransactionResult.COMMIT, _Claim.HOLDER): _S.PREPARE_COMMIT,
    (_S.ONGOING, TransactionResult.ABORT, _Claim.HOLDER): _S.PREPARE_ABORT,
    # A client that cannot know whether its first write arrived aborts; there may be no transaction (KIP-890).
    (_S.EMPTY, TransactionResult.ABORT, _Claim.HOLDER): _S.PREPARE_ABORT,
    (_S.COMPLETE_COMMIT, TransactionResult.ABORT, _Claim.HOLDER): _S.PREPARE_ABORT,
    (_S.COMPLETE_ABORT, TransactionResult.ABORT, _Claim.HOLDER): _S.PREPARE_ABORT,
    (_S.COMPLETE_COMMIT, TransactionResult.COMMIT, _Claim.REPEATED): Code.NONE,
    (_S.COMPLETE_ABORT, TransactionResult.ABORT, _Claim.REPEATED): Code.NONE,
}
"""COR-08 for ends that raise the epoch; whatever else a permitted claim asks for is InvalidTxnState."""
_CLAIMS: dict[TransactionState, frozenset[_Claim]] = {
    _S.EMPTY: frozenset({_Claim.HOLDER}),
    _S.ONGOING: frozenset({_Claim.HOLDER}),
    _S.COMPLETE_COMMIT: frozenset(_Claim),
    _S.COMPLETE_ABORT: frozenset(_Claim),
}
"""Which claims a state permits; a client with another one is fenced."""

_NO_EPOCH_LEFT = Code.UNKNOWN_SERVER_ERROR
"""What Kafka 4.1 answers a fenced holder of the last epoch; InitProducerId without an epoch succeeds."""


def initialise(
    known: TransactionMetadata,
    expected: ProducerIdAndEpoch | None,
    timeout_ms: int,
    now_ms: int,
    fresh_producer_id: Callable[[], int],
    version: int,
) -> Decision:
    """Take over a transactional id (COR-02 to COR-05); after PrepareAbort the client has to ask again."""
    if known.state in _PREPARING:
        return Code.CONCURRENT_TRANSACTIONS
    if expected is not None and not _may_continue(known, expected):
        return Code.PRODUCER_FENCED
    if known.state is _S.ONGOING:
        return prepare_fence_producer_epoch(known, now_ms, version, fresh_producer_id)
    if known.exhausted:
        if expected is not None and expected.epoch != known.epoch:
            return _NO_EPOCH_LEFT
        last = NO_EPOCH if expected is None else known.epoch
        return _emptied(known.with_producer_id(fresh_producer_id()), 0, last, timeout_ms, now_ms)
    return _bumped(known, expected, timeout_ms, now_ms)


def _may_continue(known: TransactionMetadata, expected: ProducerIdAndEpoch) -> bool:
    """KIP-360: whether the producer id and epoch of a request may be of a holder of the id, past or present."""
    if known.epoch == NO_EPOCH or expected.producer_id == known.producer_id:
        return True
    # The answer to a rotation may have been lost: the client then still has the last epoch of the old producer id.
    return expected.producer_id == known.previous_producer_id and expected.epoch >= LAST_CLIENT_EPOCH


def _bumped(known: TransactionMetadata, expected: ProducerIdAndEpoch | None, timeout_ms: int, now_ms: int) -> Decision:
    if expected is None:
        return _emptied(known, known.epoch + 1, NO_EPOCH, timeout_ms, now_ms)
    if known.epoch in (NO_EPOCH, expected.epoch):
        return _emptied(known, known.epoch + 1, known.epoch, timeout_ms, now_ms)
    # KIP-360: a repeated request whose answer was lost. Its epoch was raised then, and must not be raised twice.
    if expected.epoch == known.last_epoch:
        return _emptied(known, known.epoch, known.last_epoch, timeout_ms, now_ms)
    return Code.PRODUCER_FENCED


def _emptied(
    known: TransactionMetadata, epoch: int, last_epoch: int, timeout_ms: int, now_ms: int
) -> TransactionMetadata:
    return known.transition_to(
        _S.EMPTY,
        epoch=epoch,
        timeout_ms=timeout_ms,
        partitions=_NOWHERE,
        updated_ms=now_ms,
        started_ms=NOT_STARTED,
        last_epoch=last_epoch,
    )


def add_partitions(
    known: TransactionMetadata | None,
    producer: ProducerIdAndEpoch,
    partitions: frozenset[TopicPartition],
    now_ms: int,
    client_version: int = TV_0,
) -> Decision:
    """Let a transaction touch more partitions, starting it if need be (COR-06)."""
    if known is not None and known.state in _PREPARING:
        return Code.CONCURRENT_TRANSACTIONS
    code = _check_producer(known, producer)
    if known is None or code is not _NONE:
        return code
    if known.state is _S.ONGOING and partitions <= known.partitions:
        return _NONE
    started_ms = now_ms if known.state in AT_REST else known.started_ms
    return known.transition_to(
        _S.ONGOING,
        partitions=known.partitions | partitions,
        started_ms=started_ms,
        updated_ms=now_ms,
        client_version=client_version,
    )


def end(
    known: TransactionMetadata | None, producer: ProducerIdAndEpoch, result: TransactionResult, now_ms: int
) -> Decision:
    """Decide a transaction as its holder wishes, who keeps its epoch (COR-08)."""
    if known is None or known.producer_id != producer.producer_id:
        return Code.INVALID_PRODUCER_ID_MAPPING
    # Strictly equal: only the coordinator bumps epochs (KAFKA-9600).
    if known.epoch != producer.epoch:
        return Code.PRODUCER_FENCED
    if known.state is _S.ONGOING:
        return known.transition_to(PREPARED[result], updated_ms=now_ms, client_version=TV_0)
    if known.state in _PREPARING:
        return Code.CONCURRENT_TRANSACTIONS
    return _NONE if (known.state, result) in _REPEATED_ENDS else Code.INVALID_TXN_STATE


def end_with_epoch_bump(
    known: TransactionMetadata | None,
    producer: ProducerIdAndEpoch,
    result: TransactionResult,
    now_ms: int,
    fresh_producer_id: Callable[[], int],
) -> Decision:
    """Decide a transaction as its holder wishes, who goes on with the next epoch (KIP-890)."""
    if known is not None and known.state in _PREPARING:
        return Code.CONCURRENT_TRANSACTIONS
    if known is None or (known.producer_id != producer.producer_id and not _repeats_rotation(known, producer)):
        return Code.INVALID_PRODUCER_ID_MAPPING
    claim = _claim(known, producer)
    if claim not in _CLAIMS[known.state]:
        return Code.PRODUCER_FENCED
    decided = _BUMPING_ENDS.get((known.state, result, claim), Code.INVALID_TXN_STATE)
    if isinstance(decided, Code):
        return decided
    if known.epoch == LAST_EPOCH:
        return _NO_EPOCH_LEFT
    # An abort before any write has no start of its own.
    started_ms = known.started_ms if known.state is _S.ONGOING else now_ms
    next_producer_id = fresh_producer_id() if known.exhausted else NO_PRODUCER_ID
    return _prepared_bumping(known, decided, now_ms)._replace(started_ms=started_ms, next_producer_id=next_producer_id)


def _claim(known: TransactionMetadata, producer: ProducerIdAndEpoch) -> _Claim | None:
    if producer.epoch == known.epoch - 1 or _repeats_rotation(known, producer):
        return _Claim.REPEATED
    return _Claim.HOLDER if producer.epoch == known.epoch else None


def _repeats_rotation(known: TransactionMetadata, producer: ProducerIdAndEpoch) -> bool:
    """Whether a request is from the holder of an exhausted producer id who missed the answer with a new one."""
    return (
        known.epoch == 0 and producer.epoch == LAST_CLIENT_EPOCH and producer.producer_id == known.previous_producer_id
    )


def _prepared_bumping(known: TransactionMetadata, target: TransactionState, now_ms: int) -> TransactionMetadata:
    """The markers carry the raised epoch, so that partitions refuse a late write of the holder."""
    return known.transition_to(
        target, epoch=known.epoch + 1, updated_ms=now_ms, last_epoch=known.epoch, client_version=TV_2
    )


def prepare_complete(prepared: TransactionMetadata, now_ms: int) -> TransactionMetadata:
    """The metadata once every marker is written; an exhausted producer id is replaced (KIP-890)."""
    done = prepared.transition_to(COMPLETED[prepared.state], partitions=_NOWHERE, updated_ms=now_ms)
    if done.next_producer_id == NO_PRODUCER_ID:
        return done
    return done.with_producer_id(done.next_producer_id)._replace(epoch=0)


def prepare_fence_producer_epoch(
    known: TransactionMetadata, now_ms: int, version: int, fresh_producer_id: Callable[[], int]
) -> TransactionMetadata:
    """Abort an ongoing transaction with a raised epoch, so that its holder can neither write nor commit (COR-15).

    In version 1 nobody is ever given that epoch. In version 2 it is the one that the holder's own abort would have led
    to, so a holder that asks for just that may go on.
    """
    advance(known.state, _S.PREPARE_EPOCH_FENCE)  # passed through, never logged
    if known.epoch == LAST_EPOCH:
        # A holder that was fenced in its last epoch, and repeated its own abort, went on with this one. No other is
        # left, so the producer id changes. Kafka fails here, and the transaction stays open for ever.
        aborted = known.transition_to(_S.PREPARE_ABORT, updated_ms=now_ms, last_epoch=NO_EPOCH, client_version=TV_0)
        return aborted._replace(next_producer_id=fresh_producer_id())
    if version >= TV_2:
        return _prepared_bumping(known, _S.PREPARE_ABORT, now_ms)
    return known.transition_to(
        _S.PREPARE_ABORT, epoch=known.epoch + 1, updated_ms=now_ms, last_epoch=NO_EPOCH, client_version=TV_0
    )


def fenced_with_new_producer_id(
    known: TransactionMetadata, next_producer_id: int, now_ms: int, version: int
) -> TransactionMetadata:
    """Take an id from its holder, in whatever epoch: the next holder gets `next_producer_id`.

    For a log that is older than what clients saw: an epoch above the one it knows may be somebody's.
    """
    if known.state in _PREPARING:
        return known._replace(next_producer_id=next_producer_id)
    if known.state is _S.ONGOING:
        fenced = prepare_fence_producer_epoch(known, now_ms, version, lambda: next_producer_id)
        return fenced._replace(next_producer_id=next_producer_id)
    return _emptied(known.with_producer_id(next_producer_id), 0, NO_EPOCH, known.timeout_ms, now_ms)


def verify(
    known: TransactionMetadata | None, producer: ProducerIdAndEpoch, partitions: Iterable[TopicPartition]
) -> Mapping[TopicPartition, Code]:
    """The code for each partition: whether a write there belongs to the producer's transaction (KIP-890)."""
    code = _check_producer(known, producer)
    if known is None or code is not _NONE:
        return dict.fromkeys(partitions, code)
    return {each: _NONE if each in known.partitions else Code.TRANSACTION_ABORTABLE for each in partitions}


def _check_producer(known: TransactionMetadata | None, producer: ProducerIdAndEpoch) -> Code:
    if known is None or known.producer_id != producer.producer_id:
        return Code.INVALID_PRODUCER_ID_MAPPING
    if known.epoch != producer.epoch:
        return Code.PRODUCER_FENCED
    if known.state in _PREPARING:
        return Code.CONCURRENT_TRANSACTIONS
    return _NONE


def new_metadata(transactional_id: str, producer_id: int, timeout_ms: int) -> TransactionMetadata:
    """The metadata of an id nobody has used yet; its first initialisation makes the epoch 0."""
    return TransactionMetadata(transactional_id, producer_id, NO_EPOCH, timeout_ms, previous_producer_id=NO_PRODUCER_ID)
