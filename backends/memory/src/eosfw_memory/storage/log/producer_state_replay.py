"""Rebuild the state of a log from its batches, as every start of the broker does."""

from __future__ import annotations

from eosfw.ids import ProducerIdAndEpoch
from eosfw_memory.storage.log.log_storage import LogState
from eosfw_memory.storage.log.producer_state import NOT_OPEN
from eosfw_memory.storage.records.batch import NO_PRODUCER_ID, BatchHeader, Buffer, HeaderFields
from eosfw_memory.storage.records.markers import ending_of
from eosfw_memory.storage.records.transaction_result import TransactionResult

_ABORT = TransactionResult.ABORT


def replay(state: LogState, header: HeaderFields, control: Buffer | None) -> None:
    """Let a stamped batch change the state as its append did; `control` are its bytes if it is a control batch."""
    base_offset, _, _, _, _, _, _, _, _, producer_id, _, _, _ = header
    if producer_id == NO_PRODUCER_ID:
        return
    if control is not None:
        _marker(state, BatchHeader._make(header), control)
    elif state.producers.update(header, base_offset):
        state.open.begin(producer_id, base_offset)


def _marker(state: LogState, header: BatchHeader, control: Buffer) -> None:
    ending = ending_of(control, header)
    if ending is None:
        return  # its record is gone, or it is of a kind that ends nothing
    producer = ProducerIdAndEpoch(header.producer_id, header.producer_epoch)
    take_marker(state, producer, *ending, header.max_timestamp, header.base_offset)


def take_marker(
    state: LogState,
    producer: ProducerIdAndEpoch,
    result: TransactionResult,
    coordinator_epoch: int,
    timestamp: int,
    offset: int,
) -> None:
    """Let a marker at an offset end its producer's transaction."""
    first_offset = state.producers.complete_transaction(producer, coordinator_epoch, timestamp)
    if first_offset == NOT_OPEN:
        return
    # Before the stable offset is read: the index needs what it is behind this marker.
    state.open.end(first_offset)
    if result is _ABORT:
        undecided = state.open.first_undecided
        stable = offset + 1 if undecided is None else undecided
        state.aborted.add(producer.producer_id, first_offset, offset, stable)
