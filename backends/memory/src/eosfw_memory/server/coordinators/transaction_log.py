"""Keep the transaction log in the topic `__transaction_state`."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from eosfw.errors import DamagedDataError
from eosfw_memory.common.codes import KafkaError
from eosfw_memory.server.coordinators.append_error import append_error_code
from eosfw_memory.server.coordinators.coordinator_snapshot import TransactionChange
from eosfw_memory.server.coordinators.log_partition import partition_for
from eosfw_memory.server.coordinators.transaction_log_records import (
    decode_key,
    decode_value,
    encode_key,
    encode_value,
)
from eosfw_memory.server.coordinators.transaction_metadata import TransactionMetadata
from eosfw_memory.storage.records.batch import BatchHeader, read_header
from eosfw_memory.storage.records.codec import decode_records, encode_record
from eosfw_memory.storage.topics.topic import Partition, Topic


class TransactionStateTopic:
    """The transaction log, in the topic that `topic` gives (or makes, when it is first needed)."""

    def __init__(self, topic: Callable[[], Topic], snapshot: list[TransactionChange] | None = None) -> None:
        self._topic = topic
        self._snapshot = snapshot
        self._partitions: tuple[Partition, ...] = ()
        """The partitions of the topic once it exists: an internal topic cannot be deleted."""

    def append(self, transactional_id: str, metadata: TransactionMetadata | None, now_ms: int) -> None:
        """Write one change; nothing is written when it raises."""
        partition = self._partition(transactional_id)
        value = None if metadata is None else encode_value(metadata)
        batch = encode_record(encode_key(transactional_id), value, now_ms)
        try:
            partition.log.append_internal(batch, 1, now_ms)
        except KafkaError as why:
            raise not_written(why) from why
        partition.changed()

    def epoch_of(self, transactional_id: str) -> int:
        """The leader epoch of the partition that keeps an id."""
        return self._partition(transactional_id).log.leader_epoch

    def replay(self) -> Iterator[tuple[str, TransactionMetadata | None]]:
        """Yield every change of every partition; the first call yields a snapshot instead, if there is one."""
        if self._snapshot is not None:
            changes, self._snapshot = self._snapshot, None
            yield from changes
            return
        for partition in self._topic().partitions:
            yield from _changes(partition)

    def _partition(self, transactional_id: str) -> Partition:
        if not self._partitions:
            self._partitions = self._topic().partitions
        return self._partitions[partition_for(transactional_id, len(self._partitions))]


def not_written(why: KafkaError) -> KafkaError:
    """The error for a request whose change the transaction log refuses."""
    return KafkaError(append_error_code(why.code), f"transaction log: {why}")


def _changes(partition: Partition) -> Iterator[tuple[str, TransactionMetadata | None]]:
    for batch in partition.log.batches():
        header = read_header(batch)
        if header.control:  # WriteTxnMarkers may name this topic, too: that says nothing here
            continue
        try:
            changes = list(_stated(batch, header))
        except (DamagedDataError, KafkaError) as why:
            place = partition.log.log_storage.describe_position(header.base_offset)
            raise DamagedDataError(f"{place}: {why}: restore the file from a copy") from why
        yield from changes


def _stated(batch: bytes, header: BatchHeader) -> Iterator[tuple[str, TransactionMetadata | None]]:
    columns = decode_records(batch, header)
    for key, value in zip(columns.keys, columns.values, strict=True):
        name = None if key is None else decode_key(key)
        if name is not None:
            yield name, None if value is None else decode_value(name, value)
