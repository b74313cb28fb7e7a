"""The process that begins and ends a transaction in which others write."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

from eosfw.errors import IllegalStateError
from eosfw.ids import TopicPartition
from eosfw.protocols import AcknowledgedWrite, SharedTransaction, TransactionHandle
from eosfw.records import ProducerBatch
from eosfw_memory.client.producer.producer import MemoryProducer
from eosfw_memory.client.shared.late_write_check import LateWriteCheck


class MemorySharedTransaction(SharedTransaction):
    """A `SharedTransaction` over a producer that is initialised for it alone."""

    def __init__(self, producer: MemoryProducer, check: LateWriteCheck) -> None:
        self.transactional_id = producer.transactional_id or ""
        self._producer = producer
        self._check = check
        self._handles: Sequence[TransactionHandle] | None = None
        self._shared: frozenset[TopicPartition] = frozenset()
        self._own_records = 0

    def begin(self, timeout: float) -> None:
        # First, since whoever cannot go on must not fence the one who can.
        self._check.require_refusal(self._producer.new_timer(timeout))
        self._producer.init_transactions(timeout)
        self._producer.begin_transaction()

    def share(self, partitions: Sequence[Collection[TopicPartition]], timeout: float) -> Sequence[TransactionHandle]:
        if self._handles is not None:
            raise IllegalStateError(f"{self._what}: it is shared already")
        writers = Counter(one for each in partitions for one in set(each))
        if twice := sorted(str(one) for one, count in writers.items() if count > 1):
            raise IllegalStateError(f"{self._what}: several writers have {', '.join(twice)}")
        # Version 1: a writer that could add partitions could begin another transaction after the end of this one.
        self._producer.add_partitions(writers, timeout)
        self._shared = frozenset(writers)
        holder, version = self._producer.holder, self._producer.transaction_version
        self._handles = [
            TransactionHandle(self.transactional_id, holder, version, number, frozenset(each))
            for number, each in enumerate(partitions)
        ]
        return self._handles

    def send_batch(self, batch: ProducerBatch) -> None:
        # Two producers would number their batches of one partition independently.
        if batch.partition is None or TopicPartition(batch.topic, batch.partition) in self._shared:
            raise IllegalStateError(f"{self._what}: own records need a partition that no writer has")
        self._producer.send_batch(batch)
        self._own_records += len(batch)

    def commit(self, writes: Collection[AcknowledgedWrite], timeout: float) -> None:
        self._require_all(writes)
        if self._own_records or any(each.records for each in writes):
            self._producer.commit_transaction(timeout)
        else:
            # Version 2 has no transaction to commit where no batch was written, but an abort raises the epoch.
            self._producer.abort_transaction(timeout)

    def abort(self, timeout: float) -> None:
        self._producer.abort_transaction(timeout)

    def close(self) -> None:
        self._producer.close()
        self._check.close()

    def _require_all(self, writes: Collection[AcknowledgedWrite]) -> None:
        reported = Counter(each.writer for each in writes if each.producer == self._producer.holder)
        wanted = Counter(range(len(self._handles or ())))
        if reported == wanted and len(writes) == len(wanted):
            return
        missing, surplus = (", ".join(map(str, sorted(each))) for each in (wanted - reported, reported - wanted))
        raise IllegalStateError(
            f"{self._what}: it cannot be committed, because of its {len(wanted)} writers each must report once; "
            f"missing: {missing or 'none'}; too many: {surplus or 'none, but of another transaction'}; abort it"
        )

    @property
    def _what(self) -> str:
        return f"transaction of {self.transactional_id!r}"
