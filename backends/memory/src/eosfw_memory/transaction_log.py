"""Keep the transaction log in the topic `__transaction_state`."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from eosfw_memory.codes import Code, KafkaError
from eosfw_memory.coordinators.log_records import decode_key, decode_value, encode_key, encode_value
from eosfw_memory.coordinators.metadata import TransactionMetadata
from eosfw_memory.coordinators.ownership import partition_for
from eosfw_memory.faults import points
from eosfw_memory.faults.board import Faults
from eosfw_memory.log.batch import read_header
from eosfw_memory.log.codec import decode_records, encode_record
from eosfw_memory.topics import Partition, Topic


class TopicTransactionLog:
    """The transaction log, in the topic that `topic` gives (or makes, when it is first needed)."""

    def __init__(self, topic: Callable[[], Topic], faults: Faults) -> None:
        self._topic = topic
        self._faults = faults
        self._partitions: tuple[Partition, ...] = ()
        """Those of the topic once it was made: nobody may delete it."""

    def append(self, transactional_id: str, metadata: TransactionMetadata | None, now_ms: int) -> None:
        """Write one change; nothing is written when it raises."""
        partition = self._partition(transactional_id)
        value = None if metadata is None else encode_value(metadata)
        batch = encode_record(encode_key(transactional_id), value, now_ms)
        armed = self._faults.armed
        what = points.of_change(metadata) if armed else ""
        try:
            if armed:
                self._faults.reach(points.before(what), transactional_id=transactional_id)
            partition.log.append_own(batch, 1, now_ms)
        except KafkaError as why:
            raise KafkaError(Code.COORDINATOR_NOT_AVAILABLE, f"transaction log: {why}") from why
        partition.changed()
        if armed:
            self._faults.reach(points.after(what), transactional_id=transactional_id)

    def epoch_of(self, transactional_id: str) -> int:
        """The leader epoch of the partition that keeps an id."""
        return self._partition(transactional_id).log.leader_epoch

    def replay(self) -> Iterator[tuple[str, TransactionMetadata | None]]:
        """Every change of every partition."""
        for partition in self._topic().partitions:
            yield from _changes(partition)

    def _partition(self, transactional_id: str) -> Partition:
        if not self._partitions:
            self._partitions = self._topic().partitions
        return self._partitions[partition_for(transactional_id, len(self._partitions))]


def _changes(partition: Partition) -> Iterator[tuple[str, TransactionMetadata | None]]:
    for batch in partition.log.batches():
        header = read_header(batch)
        if header.control:  # whoever ends transactions by hand may name this topic, too: that says nothing here
            continue
        columns = decode_records(batch, header)
        for key, value in zip(columns.keys, columns.values, strict=True):
            name = None if key is None else decode_key(key)
            if name is not None:
                yield name, None if value is None else decode_value(name, value)
