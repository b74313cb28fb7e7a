"""A partition log with the producers, the clock, the readers of a test."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from crc32c import crc32c
from hypothesis import HealthCheck, settings

from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw.protocols import IsolationLevel
from eosfw_memory.storage.log.log_config import LogConfig
from eosfw_memory.storage.log.log_results import FetchDataInfo, LogAppendInfo
from eosfw_memory.storage.log.partition_log import PartitionLog
from eosfw_memory.storage.records.batch import split
from eosfw_memory.storage.records.codec import decode_records, encode_batch
from eosfw_memory.storage.records.markers import result_of
from eosfw_memory.storage.records.transaction_result import TransactionResult

NOW = 1_700_000_000_000
COMMITTED = IsolationLevel.READ_COMMITTED
UNCOMMITTED = IsolationLevel.READ_UNCOMMITTED
CRC_AT, COVERED_FROM = 17, 21
PLENTY = 1 << 30

unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""For properties: a busy machine is no failure."""


def patched(batch: bytes, at: int, layout: str, *values: int, sealed: bool = True) -> bytes:
    """The batch with one field replaced and, by default, a correct checksum."""
    changed = bytearray(batch)
    struct.pack_into(layout, changed, at, *values)
    if sealed:
        struct.pack_into(">I", changed, CRC_AT, crc32c(bytes(changed[COVERED_FROM:])))
    return bytes(changed)


class Writer:
    """A producer that counts its own sequence numbers."""

    def __init__(self, log: PartitionLog, producer_id: int, epoch: int = 0) -> None:
        self.log = log
        self.producer = ProducerIdAndEpoch(producer_id, epoch)
        self.sequence = 0

    def batch(self, *values: bytes, transactional: bool = True, sequence: int | None = None) -> bytes:
        """The bytes of its next batch, or of the one with this sequence number."""
        at = self.sequence if sequence is None else sequence
        return encode_batch(None, values, NOW, producer=self.producer, base_sequence=at, transactional=transactional)

    def send(self, *values: bytes, transactional: bool = True, sequence: int | None = None) -> LogAppendInfo:
        done = self.log.append(self.batch(*values, transactional=transactional, sequence=sequence), NOW)
        if sequence is None:
            self.sequence = (self.sequence + len(values)) % 2**31
        return done

    def commit(self, coordinator_epoch: int = 0) -> int:
        return self.log.append_marker(self.producer, TransactionResult.COMMIT, coordinator_epoch, NOW)

    def abort(self, coordinator_epoch: int = 0) -> int:
        return self.log.append_marker(self.producer, TransactionResult.ABORT, coordinator_epoch, NOW)


def new_log(config: LogConfig | None = None) -> PartitionLog:
    where = TopicPartition("flights", 0)
    return PartitionLog(where) if config is None else PartitionLog(where, config)


def plain(*values: bytes) -> bytes:
    """A batch outside any transaction, of no producer id."""
    return encode_batch(None, values, NOW)


class Consumer:
    """Reads as Kafka's consumers do: drops control batches, at read_committed also what aborted transactions wrote."""

    def __init__(self, log: PartitionLog, isolation: IsolationLevel, max_bytes: int = PLENTY) -> None:
        self.log, self.isolation, self.max_bytes = log, isolation, max_bytes
        self.position = 0

    def poll(self) -> list[tuple[int, bytes | None]]:
        """One fetch: visible offsets and values; the position passes hidden records, too."""
        fetched = self.log.fetch(self.position, self.max_bytes, self.isolation)
        shown, self.position = visible(fetched, self.position)
        return shown

    def drain(self) -> list[tuple[int, bytes | None]]:
        """Everything that can be read now."""
        shown: list[tuple[int, bytes | None]] = []
        while True:
            before = self.position
            shown += self.poll()
            if self.position == before:
                return shown


def visible(fetched: FetchDataInfo, position: int) -> tuple[list[tuple[int, bytes | None]], int]:
    """The records of a fetch that a client returns, and its next position."""
    shown: list[tuple[int, bytes | None]] = []
    pending = sorted(fetched.aborted, key=lambda each: each.first_offset)
    hidden: set[int] = set()
    for header, batch in split(fetched.records):
        while pending and pending[0].first_offset <= header.last_offset:
            hidden.add(pending.pop(0).producer_id)
        columns = decode_records(batch)
        if header.control:
            if result_of(columns.keys[0] or b"") is TransactionResult.ABORT:
                hidden.discard(header.producer_id)
        elif not (header.transactional and header.producer_id in hidden):
            rows: Sequence[tuple[int, bytes | None]] = list(zip(columns.offsets, columns.values, strict=True))
            shown += [row for row in rows if row[0] >= position]
        position = max(position, header.last_offset + 1)
    return shown, position
