"""Write keyed records to a compacted log, then clean it."""

from __future__ import annotations

from eosfw.ids import ProducerIdAndEpoch
from eosfw_memory.storage.cleaner.compaction import compact
from eosfw_memory.storage.log.partition_log import PartitionLog
from eosfw_memory.storage.records.batch import header_at
from eosfw_memory.storage.records.codec import encode_batch
from eosfw_memory.storage.records.transaction_result import TransactionResult

from ..log.log_harness import COMMITTED, NOW, Consumer

DAY = 86_400_000
RULES = {"cleanup.policy": "compact", "segment.bytes": "300", "min.cleanable.dirty.ratio": "0"}


class Keyed:
    """A transactional producer of records with keys."""

    def __init__(self, log: PartitionLog, producer_id: int) -> None:
        self.log, self.producer, self.sequence = log, ProducerIdAndEpoch(producer_id, 0), 0

    def send(self, *records: tuple[bytes, bytes | None], transactional: bool = True) -> int:
        keys, values = [key for key, _ in records], [value for _, value in records]
        batch = encode_batch(
            keys, values, NOW, producer=self.producer, base_sequence=self.sequence, transactional=transactional
        )
        self.sequence += len(records)
        return self.log.append(batch, NOW).base_offset

    def end(self, outcome: TransactionResult) -> int:
        return self.log.append_marker(self.producer, outcome, 0, NOW)

    def commit(self) -> int:
        return self.end(TransactionResult.COMMIT)

    def abort(self) -> int:
        return self.end(TransactionResult.ABORT)


def rolled(log: PartitionLog) -> None:
    """Roll the active segment, so that every record can be compacted."""
    end = log.high_watermark
    other = Keyed(log, 10_000 + end)
    while not log.rolled_segments() or log.rolled_segments()[-1].end_offset < end:
        other.send((b"filling", b"f" * 100), transactional=False)


def cleaned(log: PartitionLog, now_ms: int = NOW) -> PartitionLog:
    rolled(log)
    assert compact(log, now_ms)
    return log


def values(log: PartitionLog, level=COMMITTED) -> list[bytes | None]:
    return [value for _, value in Consumer(log, level).drain() if value != b"f" * 100]


def markers(log: PartitionLog) -> list[int]:
    return [header.base_offset for batch in log.batches() if (header := header_at(batch, 0)).control]
