"""Keep groups, with their offsets, in the topic `__consumer_offsets`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

from eosfw.errors import DamagedDataError
from eosfw.ids import ProducerIdAndEpoch
from eosfw_memory.common.codes import Code, KafkaError
from eosfw_memory.server.coordinators.append_error import append_error_code
from eosfw_memory.server.coordinators.log_partition import partition_for
from eosfw_memory.storage.log.producer_state import Origin
from eosfw_memory.storage.records.batch import NO_PRODUCER_ID, BatchHeader, read_header
from eosfw_memory.storage.records.codec import decode_records, encode_batch
from eosfw_memory.storage.records.markers import result_of
from eosfw_memory.storage.records.transaction_result import TransactionResult
from eosfw_memory.storage.topics.topic import Topic

Record: TypeAlias = tuple[bytes, bytes | None]
"""A key with its value; None forgets the key."""


class GroupLogRecord(NamedTuple):
    """One record of the log, with its partition; in a transaction, with its producer id."""

    partition: int
    position: int
    producer_id: int | None
    key: bytes
    value: bytes | None


class GroupLogMarker(NamedTuple):
    """A marker of the log."""

    partition: int
    producer_id: int
    result: TransactionResult


_PASSED_ON = frozenset({Code.INVALID_PRODUCER_EPOCH, Code.INVALID_TXN_STATE})
"""Errors that the producer caused."""


class OffsetsTopic:
    """The log of all groups, in the topic that `topic` gives (or makes, when it is first needed)."""

    def __init__(self, topic: Callable[[], Topic], snapshot: list[GroupLogRecord] | None = None) -> None:
        self._topic = topic
        self._snapshot = snapshot

    def partition_of(self, group_id: str) -> int:
        """Which partition keeps a group."""
        return partition_for(group_id, len(self._topic().partitions))

    def append(
        self, group_id: str, records: Sequence[Record], now_ms: int, producer: ProducerIdAndEpoch | None = None
    ) -> int:
        """Write records about one group, all or none, as a part of a producer's transaction if one is given.

        Gives the offset of the first. Raises CoordinatorNotAvailable, that they are too many, or what the producer did.
        """
        partition = self._topic().partitions[self.partition_of(group_id)]
        keys, values = [key for key, _ in records], [value for _, value in records]
        try:
            if producer is None:
                offset = partition.log.append_internal(encode_batch(keys, values, now_ms), len(records), now_ms)
            else:
                batch = encode_batch(keys, values, now_ms, producer=producer, transactional=True)
                offset = partition.log.append(batch, now_ms, origin=Origin.COORDINATOR).base_offset
        except KafkaError as why:
            raise not_written(why) from why
        partition.changed()
        return offset

    def replay(self) -> Iterator[GroupLogRecord | GroupLogMarker]:
        """Yield all records and markers by partition; the first call yields a snapshot instead, if there is one."""
        if self._snapshot is not None:
            changes, self._snapshot = self._snapshot, None
            yield from changes
            return
        for number, partition in enumerate(self._topic().partitions):
            for batch in partition.log.batches():
                header = read_header(batch)
                try:
                    found = list(_read(number, batch, header))
                except KafkaError as why:
                    raise DamagedDataError(f"{self.describe_position(number, header.base_offset)}: {why}") from why
                yield from found

    def describe_position(self, partition: int, position: int) -> str:
        """Where a change is, for people."""
        return self._topic().partitions[partition].log.log_storage.describe_position(position)


def not_written(why: KafkaError) -> KafkaError:
    """The error for a request whose records the log refuses."""
    code = why.code if why.code in _PASSED_ON else append_error_code(why.code)
    return KafkaError(code, f"group offsets: {why}")


def _read(partition: int, batch: bytes, header: BatchHeader) -> Iterator[GroupLogRecord | GroupLogMarker]:
    columns = decode_records(batch, header)
    producer_id = header.producer_id if header.transactional else None
    for offset, key, value in zip(columns.offsets, columns.keys, columns.values, strict=True):
        if key is None:
            continue
        if not header.control:
            yield GroupLogRecord(partition, offset, producer_id, key, value)
        elif producer_id not in (None, NO_PRODUCER_ID) and (result := result_of(key)) is not None:
            yield GroupLogMarker(partition, header.producer_id, result)
