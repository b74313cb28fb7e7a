"""Put the points of faults around the seams of a broker (`eosfw_memory.common.interceptors`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, Self

from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw_memory.common.codes import Code, KafkaError
from eosfw_memory.faults import points
from eosfw_memory.server.broker.broker import Broker, Handler
from eosfw_memory.server.broker.state import AppendRecords
from eosfw_memory.server.coordinators.groups import offsets_topic
from eosfw_memory.server.coordinators.groups.group_metadata_manager import GroupLog
from eosfw_memory.server.coordinators.transaction_log import not_written
from eosfw_memory.server.coordinators.transaction_marker_channel import WriteMarker
from eosfw_memory.server.coordinators.transaction_metadata import TransactionMetadata
from eosfw_memory.server.coordinators.transaction_state_manager import TransactionLog
from eosfw_memory.storage.log.log_results import LogAppendInfo
from eosfw_memory.storage.records.batch import BatchHeader
from eosfw_memory.storage.records.markers import Marker
from eosfw_memory.storage.records.transaction_result import TransactionResult
from eosfw_memory.storage.topics.topic import GROUP_LOG, Partition


class Reach(Protocol):
    """Is called at each point; may raise what refuses a write or stops the broker."""

    def __call__(
        self,
        point: str,
        *,
        transactional_id: str | None = None,
        topic: str | None = None,
        group_id: str | None = None,
        producer_id: int | None = None,
    ) -> None: ...


@dataclass(frozen=True, slots=True)
class Seams:
    """What a broker holds at each of its seams."""

    interceptor: Callable[[Handler], Handler] | None
    append_records: AppendRecords
    transaction_log: TransactionLog
    write_marker: WriteMarker
    group_log: GroupLog
    transaction_ended: Callable[[int, int, TransactionResult], None]

    @classmethod
    def of(cls, broker: Broker) -> Self:
        """What a broker holds now."""
        coordinator, groups = broker.coordinator, broker.groups
        return cls(
            broker.interceptor,
            broker.append_records,
            coordinator.state.log,
            coordinator.markers.write_marker,
            groups.store.log,
            groups.transaction_ended,
        )

    def intercepted(self, interceptor: Callable[[Handler], Handler], reach: Reach) -> Seams:
        """The same with an interceptor of requests, with a point before and after each write."""
        return Seams(
            interceptor,
            _around_records(self.append_records, reach),
            _TransactionLog(self.transaction_log, reach),
            _around_markers(self.write_marker, reach),
            _GroupLog(self.group_log, reach),
            _around_ended_transactions(self.transaction_ended, reach),
        )

    def put_into(self, broker: Broker) -> None:
        """Have a broker use these from now on."""
        coordinator, groups = broker.coordinator, broker.groups
        # Under the lock, so that no request is served with some of the old seams and some of the new ones.
        with broker.lock:
            broker.interceptor = self.interceptor
            broker.append_records = self.append_records
            coordinator.state.log, coordinator.markers.write_marker = self.transaction_log, self.write_marker
            groups.store.log, groups.transaction_ended = self.group_log, self.transaction_ended


class _TransactionLog:
    def __init__(self, log: TransactionLog, reach: Reach) -> None:
        self._log, self._reach = log, reach
        self.epoch_of, self.replay = log.epoch_of, log.replay

    def append(self, transactional_id: str, metadata: TransactionMetadata | None, now_ms: int) -> None:
        what = points.of_change(metadata)
        try:
            self._reach(points.before(what), transactional_id=transactional_id)
        except KafkaError as why:
            raise not_written(why) from why
        self._log.append(transactional_id, metadata, now_ms)
        self._reach(points.after(what), transactional_id=transactional_id)


class _GroupLog:
    def __init__(self, log: GroupLog, reach: Reach) -> None:
        self._log, self._reach = log, reach
        self.partition_of, self.describe_position, self.replay = log.partition_of, log.describe_position, log.replay

    def append(
        self,
        group_id: str,
        records: Sequence[offsets_topic.Record],
        now_ms: int,
        producer: ProducerIdAndEpoch | None = None,
    ) -> int:
        what = points.of_group_record(*records[0])
        try:
            self._reach(points.before(what), group_id=group_id)
        except KafkaError as why:
            raise offsets_topic.not_written(why) from why
        offset = self._log.append(group_id, records, now_ms, producer)
        self._reach(points.after(what), group_id=group_id)
        return offset


def _around_records(append: AppendRecords, reach: Reach) -> AppendRecords:
    def append_records(
        partition: Partition,
        batch: bytes | memoryview,
        now_ms: int,
        header: BatchHeader,
        encoded_in_process: bool,  # noqa: FBT001 - as the seam has it
    ) -> LogAppendInfo:
        topic = partition.log.where.topic
        reach(points.before("append"), topic=topic)
        appended = append(partition, batch, now_ms, header, encoded_in_process)
        reach(points.after("append"), topic=topic)
        return appended

    return append_records


def _around_markers(write: WriteMarker, reach: Reach) -> WriteMarker:
    def write_marker(where: TopicPartition, marker: Marker) -> None:
        producer_id = marker.producer.producer_id
        try:
            reach(points.before("marker"), producer_id=producer_id, topic=where.topic)
        except KafkaError as why:
            if why.code is not Code.UNKNOWN_TOPIC_OR_PARTITION:  # else as if the partition were gone
                raise
        else:
            write(where, marker)
        reach(points.after("marker"), producer_id=producer_id, topic=where.topic)

    return write_marker


def _around_ended_transactions(
    end: Callable[[int, int, TransactionResult], None], reach: Reach
) -> Callable[[int, int, TransactionResult], None]:
    def transaction_ended(partition: int, producer_id: int, outcome: TransactionResult) -> None:
        reach(points.before("materialize"), producer_id=producer_id, topic=GROUP_LOG)
        end(partition, producer_id, outcome)
        reach(points.after("materialize"), producer_id=producer_id, topic=GROUP_LOG)

    return transaction_ended
