"""Write the producers of a partition as bytes (BRK-08). Kafka's producer snapshot.

Kafka's own snapshot keeps the latest batch of each producer only, so a repetition of an older one is no longer known
after a restart. Here all five are kept, in a format of our own.
"""

from __future__ import annotations

import struct
from typing import Final

from eosfw_memory.storage.log.log_storage import LogState
from eosfw_memory.storage.log.producer_state import NOT_OPEN, ProducerStateEntry, ProducerStateManager

KIND: Final = b"EOSP"
_COUNT = struct.Struct(">I")
# Producer id, epoch, next sequence number (which the batches tell, too), coordinator epoch, last timestamp, first
# offset, number of batches.
_PRODUCER = struct.Struct(">qhiiqqB")
# The fields of `BatchMetadata`.
_BATCH = struct.Struct(">iiqqq")


def encode_producers(producers: ProducerStateManager) -> bytes:
    """Every producer with its remembered batches."""
    known = producers.known()
    pieces = [_COUNT.pack(len(known))]
    for producer_id, state in known.items():
        pieces.append(
            _PRODUCER.pack(
                producer_id,
                state.epoch,
                state.next_sequence,
                state.coordinator_epoch,
                state.last_timestamp,
                state.first_offset,
                len(state.latest),
            )
        )
        pieces += [_BATCH.pack(*batch) for batch in state.batches]
    return b"".join(pieces)


def decode_state(body: memoryview) -> LogState | None:
    """The producers with their open transactions; None when the bytes make no sense."""
    try:
        producers, behind = _producers(body)
    except (struct.error, ValueError):
        return None
    if behind != len(body):
        return None
    state = LogState(ProducerStateManager(producers))
    opened = ((each.first_offset, pid) for pid, each in producers.items() if each.first_offset != NOT_OPEN)
    # `begin` expects them in the order of their offsets.
    for first_offset, producer_id in sorted(opened):
        state.open.begin(producer_id, first_offset)
    return state


def _producers(body: memoryview) -> tuple[dict[int, ProducerStateEntry], int]:
    found: dict[int, ProducerStateEntry] = {}
    (count,), at = _COUNT.unpack_from(body), _COUNT.size
    for _ in range(count):
        producer_id, epoch, _, coordinator_epoch, timestamp, first_offset, batches = _PRODUCER.unpack_from(body, at)
        at += _PRODUCER.size
        state = found[producer_id] = ProducerStateEntry(epoch)
        state.coordinator_epoch, state.last_timestamp, state.first_offset = coordinator_epoch, timestamp, first_offset
        for _ in range(batches):
            sequence, _, offset, last_offset, newest = _BATCH.unpack_from(body, at)
            state.latest.append((sequence, last_offset - offset, offset, newest))
            at += _BATCH.size
    return found, at
