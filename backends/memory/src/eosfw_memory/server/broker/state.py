"""What one broker knows: its properties, topics, coordinators, the time. Kafka's `ReplicaManager` beside them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeAlias

from eosfw.concurrency import Runtime
from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw.security import Address
from eosfw_memory.common.codes import Code, KafkaError
from eosfw_memory.server.broker.acl_control_manager import AclControlManager
from eosfw_memory.server.broker.client_quota_control_manager import ClientQuotaControlManager
from eosfw_memory.server.broker.cluster_metadata import ClusterMetadata
from eosfw_memory.server.broker.configuration_control_manager import ConfigurationControlManager
from eosfw_memory.server.broker.coordinator_record import CoordinatorRecord
from eosfw_memory.server.broker.fetch_sessions import FetchSessionCache
from eosfw_memory.server.broker.scram_control_manager import ScramControlManager
from eosfw_memory.server.broker.settings import Settings
from eosfw_memory.server.coordinators.coordinator_snapshot import decode, encode
from eosfw_memory.server.coordinators.groups.coordinator import GroupCoordinator
from eosfw_memory.server.coordinators.groups.group_metadata_manager import GroupLog
from eosfw_memory.server.coordinators.groups.offsets_topic import OffsetsTopic
from eosfw_memory.server.coordinators.transaction_coordinator import TransactionCoordinator
from eosfw_memory.server.coordinators.transaction_log import TransactionStateTopic
from eosfw_memory.server.quotas.client_quota_manager import ClientQuotaManager
from eosfw_memory.storage.files.topic_storage import LogDirDescription, TopicStorage
from eosfw_memory.storage.log.log_results import LogAppendInfo
from eosfw_memory.storage.log.partition_log import PartitionLog
from eosfw_memory.storage.records.batch import BatchHeader
from eosfw_memory.storage.records.markers import Marker
from eosfw_memory.storage.records.transaction_result import TransactionResult
from eosfw_memory.storage.topics.topic import (
    CLUSTER_METADATA,
    GROUP_LOG,
    INTERNAL,
    TRANSACTION_LOG,
    NewTopic,
    Partition,
    Topic,
    Topics,
)

NODE_ID: Final = 1
_INTERNAL_TOPIC: Final = {"cleanup.policy": "compact", "segment.bytes": str(100 << 20)}
"""Kafka's defaults for the broker's own topics."""

AppendRecords: TypeAlias = Callable[[Partition, bytes | memoryview, int, BatchHeader, bool], LogAppendInfo]
"""Appends a client's batch at a time of the broker's clock; the last says whether our own codec has made it."""


def append_records(
    partition: Partition,
    batch: bytes | memoryview,
    now_ms: int,
    header: BatchHeader,
    encoded_in_process: bool,  # noqa: FBT001 - a seam has positions only
) -> LogAppendInfo:
    """Append a client's batch, then wake the fetches that wait for it."""
    appended = partition.log.append(batch, now_ms, header, encoded_in_process=encoded_in_process)
    partition.changed()
    return appended


class BrokerState:
    """Everything that a request handler reads or changes, under `lock`."""

    def __init__(self, settings: Settings, endpoint: Address, runtime: Runtime, storage: TopicStorage | None) -> None:
        self.settings = settings
        self.endpoint = endpoint
        """Where clients find it: those of this process, and those of listeners without an endpoint of their own."""
        self.endpoints: dict[str, Address] = {}
        """Where clients of other listeners find it, by the name of the listener."""
        self.storage = TopicStorage() if storage is None else storage
        self.cluster_id = self.storage.cluster_id
        self.topics = Topics(self.storage, settings.topic_defaults)
        self.lock = runtime.lock()
        self.append_records: AppendRecords = append_records
        self.restarts = 0
        """How often it was restarted: answers that were delayed before a restart never come."""
        self._runtime = runtime
        self._epoch_seconds = runtime.wall() - runtime.now()
        """What is added to the runtime's clock, which never goes back, to give seconds since 1970."""
        self._up_at = 0.0
        self.authorizer = settings.authorizer()
        """Who decides what principals may do; None lets everybody do everything."""
        metadata = ClusterMetadata(self.topics, self.now_ms)
        self.acls = None if self.authorizer is None else AclControlManager(self.authorizer, metadata)
        self.client_quotas = ClientQuotaManager(settings.quota_windows, self.now_ms, runtime.now)
        self.quota_control = ClientQuotaControlManager(self.client_quotas, metadata)
        self.scram = ScramControlManager(metadata)
        self.fetch_sessions = FetchSessionCache(settings.fetch_sessions, self.now_ms)
        snapshot = decode(self.storage.take_coordinator_snapshot(self._internal_logs()))
        self.coordinator = TransactionCoordinator(
            TransactionStateTopic(self.transaction_log, snapshot.transactions),
            self._write_coordinators_marker,
            self.storage.producer_ids,
            config=settings.transactions,
        )
        self.coordinator_record = CoordinatorRecord(runtime.now) if settings.records_coordinators else None
        """What both coordinators are asked and answer, if that is asked for."""
        log: GroupLog = OffsetsTopic(self.group_log, snapshot.groups)
        if self.coordinator_record is not None:
            log = self.coordinator_record.around(log)
        self.groups = GroupCoordinator(log, settings.groups, self.topics)
        self.group_configs = ConfigurationControlManager(self.groups.configs, metadata)

    def endpoint_for(self, listener: str) -> Address:
        """Where the clients of a listener are told to connect: what they use already, not another kind of listener."""
        return self.endpoints.get(listener, self.endpoint)

    def now_ms(self) -> int:
        """Milliseconds since 1970 by a clock that never goes back, so that no timeout is cut short or drawn out."""
        return int((self._epoch_seconds + self._runtime.now()) * 1000)

    @property
    def down(self) -> bool:
        """Whether the broker is away after a restart."""
        return self._up_at > 0.0 and self._runtime.now() < self._up_at

    @property
    def seconds_down(self) -> float:
        """How long it is still away."""
        return max(0.0, self._up_at - self._runtime.now())

    # --- topics

    def auto_created_topics(self, names: Iterable[str]) -> Iterator[NewTopic]:
        """Those of the topics a client asks about that `auto.create.topics.enable` creates."""
        if self.settings.auto_create_topics:
            own = INTERNAL | {CLUSTER_METADATA}
            missing = (name for name in names if name not in own and self.topics.by_name(name) is None)
            yield from (NewTopic(name, self.settings.num_partitions) for name in missing)

    def delete_topic(self, topic: Topic) -> None:
        """Delete a topic, then the offsets that groups committed for it."""
        self.topics.delete(topic)
        self.groups.on_topics_deleted(lambda name: name == topic.name, self.now_ms())

    def transaction_log(self) -> Topic:
        """The topic of the transaction log, created when first needed."""
        return self._internal_topic(TRANSACTION_LOG, self.settings.transaction_log_partitions, "uncompressed")

    def group_log(self) -> Topic:
        """The topic of consumer groups with their offsets, created when first needed."""
        return self._internal_topic(GROUP_LOG, self.settings.offsets_topic_partitions, "producer")

    def _internal_topic(self, name: str, partitions: int, compression_type: str) -> Topic:
        config = {**_INTERNAL_TOPIC, "compression.type": compression_type}
        return self.topics.by_name(name) or self.topics.create(name, partitions, config)

    def offsets_partition(self, group_id: str) -> TopicPartition:
        """The partition that keeps a group's offsets."""
        return TopicPartition(GROUP_LOG, self.groups.partition_of(group_id))

    def describe_log_dir(self) -> LogDirDescription:
        """Where all data are, with how much room there is."""
        return self.storage.describe_log_dir()

    # --- markers

    def write_marker(
        self, where: TopicPartition, producer: ProducerIdAndEpoch, result: TransactionResult, coordinator_epoch: int
    ) -> None:
        """End a producer's transaction in one partition, for any coordinator; KafkaError if the partition refuses."""
        partition = self.topics.partition(where.topic, where.partition)
        if partition is None:
            raise KafkaError(Code.UNKNOWN_TOPIC_OR_PARTITION)
        # The marker first: offsets that count without it would be taken back by the next replay.
        partition.log.append_marker(producer, result, coordinator_epoch, self.now_ms())
        if where.topic == GROUP_LOG:
            self.groups.transaction_ended(where.partition, producer.producer_id, result)
        partition.changed()

    def _write_coordinators_marker(self, where: TopicPartition, marker: Marker) -> None:
        """Write a marker of the coordinator; a partition that was deleted needs none (COR-11)."""
        try:
            self.write_marker(where, *marker)
        except KafkaError as why:
            if why.code is not Code.UNKNOWN_TOPIC_OR_PARTITION:
                raise

    # --- what outlives a clean stop

    def save_coordinators(self) -> None:
        """Keep a snapshot of both coordinators, so that the next start need not read their logs."""
        self.storage.save_coordinator_snapshot(
            self._internal_logs(), lambda: encode(self.coordinator.transactions(), self.groups.store.snapshot())
        )

    def _internal_logs(self) -> list[PartitionLog]:
        topics = filter(None, map(self.topics.by_name, sorted(INTERNAL)))
        return [partition.log for topic in topics for partition in topic.partitions]
