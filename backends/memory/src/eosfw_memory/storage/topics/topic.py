"""The topics of a broker with their partitions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from uuid import UUID, uuid4

from eosfw.ids import TopicPartition
from eosfw_memory.common.codes import Code, KafkaError
from eosfw_memory.common.delayed_operation import Wakeable
from eosfw_memory.storage.files.topic_storage import StoredTopic, TopicStorage
from eosfw_memory.storage.log.partition_log import PartitionLog
from eosfw_memory.storage.log.topic_config import NO_DEFAULTS, check_config, check_name, check_shape, log_config

TRANSACTION_LOG = "__transaction_state"
GROUP_LOG = "__consumer_offsets"
INTERNAL = frozenset({TRANSACTION_LOG, GROUP_LOG})
CLUSTER_METADATA = "__cluster_metadata"
"""What the cluster knows beside its topics; as in Kafka no client sees it among them."""
_CLUSTER_METADATA_CONFIG = {"cleanup.policy": "compact", "segment.bytes": str(100 << 20)}


class Partition(Wakeable):
    """One partition: its log, and the requests that wait for the log to grow."""

    __slots__ = ("log",)

    def __init__(self, log: PartitionLog) -> None:
        super().__init__()
        self.log = log


@dataclass(frozen=True, slots=True, eq=False)
class Topic:
    """One topic."""

    name: str
    topic_id: UUID
    partitions: tuple[Partition, ...]
    config: Mapping[str, str]
    """Only what was set; `topic_config.in_force` adds the defaults."""

    @property
    def internal(self) -> bool:
        """Whether the broker keeps its own state in it."""
        return self.name in INTERNAL


@dataclass(frozen=True, slots=True)
class NewTopic:
    """A topic to be created."""

    name: str
    partitions: int
    config: Mapping[str, str] = field(default_factory=dict)


class Topics:
    """Every topic, by name or id."""

    def __init__(self, storage: TopicStorage | None = None, defaults: Mapping[str, str] = NO_DEFAULTS) -> None:
        self._storage = TopicStorage() if storage is None else storage
        self.defaults = defaults
        """The broker's defaults for properties of topics, where they differ from Kafka's."""
        self._by_name: dict[str, Topic] = {}
        self._by_id: dict[UUID, Topic] = {}
        self._by_folded: dict[str, str] = {}
        self.version = 0
        """Another number after every change of a topic."""
        self.cluster_metadata: Topic | None = None
        """The topic of the cluster itself, once there is one."""
        for stored in self._storage.topics():
            self._add(stored)

    def __iter__(self) -> Iterator[Topic]:
        return iter(tuple(self._by_name.values()))

    def by_name(self, name: str) -> Topic | None:
        return self._by_name.get(name)

    def by_id(self, topic_id: UUID) -> Topic | None:
        return self._by_id.get(topic_id)

    def partition(self, topic: str, index: int) -> Partition | None:
        """The partition, or None when the topic or the number does not exist."""
        found = self._by_name.get(topic)
        return found.partitions[index] if found is not None and 0 <= index < len(found.partitions) else None

    def check(self, name: str, partitions: int, config: Mapping[str, str]) -> None:
        """Raise Kafka's error if such a topic cannot be created."""
        self.check_available(name)
        check_shape(partitions, config)

    def check_available(self, name: str) -> None:
        """Raise Kafka's error if no topic can be created by this name."""
        check_name(name)
        if name == CLUSTER_METADATA:
            raise KafkaError(Code.INVALID_REQUEST, f"Creation of internal topic {name} is prohibited.")
        twin = self._by_folded.get(_folded(name))
        if twin == name:
            raise KafkaError(Code.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
        if twin is not None:
            raise KafkaError(Code.INVALID_TOPIC_EXCEPTION, f"Topic '{name}' collides with existing topic: {twin}")

    def create(self, name: str, partitions: int, config: Mapping[str, str]) -> Topic:
        """Create a topic, or raise Kafka's error."""
        [made] = self.create_each([NewTopic(name, partitions, config)])
        if isinstance(made, KafkaError):
            raise made
        return made

    def create_cluster_metadata(self) -> Topic:
        """Create the topic of the cluster itself, or raise Kafka's error."""
        stored = StoredTopic(CLUSTER_METADATA, uuid4(), 1, _CLUSTER_METADATA_CONFIG)
        self._storage.create(stored)
        return self._add(stored)

    def create_each(self, wanted: Sequence[NewTopic]) -> list[Topic | KafkaError]:
        """Create topics with one change of the storage; give each topic, or Kafka's error for it."""
        checked = [self._reserved(each) for each in wanted]
        stored = [each for each in checked if isinstance(each, StoredTopic)]
        try:
            if stored:
                self._storage.create(*stored)
        except KafkaError as why:
            for each in stored:
                del self._by_folded[_folded(each.name)]
            return [why if isinstance(each, StoredTopic) else each for each in checked]
        return [self._add(each) if isinstance(each, StoredTopic) else each for each in checked]

    def _reserved(self, wanted: NewTopic) -> StoredTopic | KafkaError:
        """What the storage keeps of a topic; its name is reserved from now on."""
        try:
            self.check(wanted.name, wanted.partitions, wanted.config)
        except KafkaError as refused:
            return refused
        self._by_folded[_folded(wanted.name)] = wanted.name
        return StoredTopic(wanted.name, uuid4(), wanted.partitions, dict(wanted.config))

    def alter(self, topic: Topic, config: Mapping[str, str]) -> None:
        """Give a topic other properties, which count at once; raise InvalidConfig, or that they cannot be kept."""
        check_config(config)
        self._storage.change(StoredTopic(topic.name, topic.topic_id, len(topic.partitions), dict(config)))
        self._know(replace(topic, config=dict(config)))
        rules = log_config(config, self.defaults)
        for partition in topic.partitions:
            partition.log.update_config(rules)

    def grow(self, topic: Topic, partitions: int) -> None:
        """Give a topic more partitions; raise InvalidPartitions, or that they cannot be kept."""
        check_shape(partitions, topic.config)
        stored = StoredTopic(topic.name, topic.topic_id, partitions, topic.config)
        self._storage.change(stored)
        more = self._made(stored, range(len(topic.partitions), partitions))
        self._know(replace(topic, partitions=(*topic.partitions, *more)))

    def delete(self, topic: Topic) -> None:
        """Delete a topic with its data, and wake the requests that wait for it."""
        self._storage.delete(StoredTopic(topic.name, topic.topic_id, len(topic.partitions), topic.config))
        del self._by_name[topic.name]
        del self._by_id[topic.topic_id]
        del self._by_folded[_folded(topic.name)]
        self.version += 1
        for partition in topic.partitions:
            partition.log.delete()
            partition.changed()

    def logs(self) -> Mapping[TopicPartition, PartitionLog]:
        """The log of every partition."""
        own = () if self.cluster_metadata is None else (self.cluster_metadata,)
        return {each.log.where: each.log for topic in (*self, *own) for each in topic.partitions}

    def _add(self, stored: StoredTopic) -> Topic:
        partitions = self._made(stored, range(stored.partitions))
        return self._know(Topic(stored.name, stored.topic_id, partitions, stored.config))

    def _made(self, stored: StoredTopic, numbers: Iterable[int]) -> tuple[Partition, ...]:
        rules = log_config(stored.config, self.defaults)
        wheres = (TopicPartition(stored.name, number) for number in numbers)
        logs = (PartitionLog(where, rules, self._storage.log_storage(stored, where.partition)) for where in wheres)
        return tuple(map(Partition, logs))

    def _know(self, topic: Topic) -> Topic:
        if topic.name == CLUSTER_METADATA:
            self.cluster_metadata = topic
            return topic
        self.version += 1
        self._by_name[topic.name] = topic
        self._by_id[topic.topic_id] = topic
        self._by_folded[_folded(topic.name)] = topic.name
        return topic


def _folded(name: str) -> str:
    # Kafka's metric names cannot tell '.' from '_', so it refuses names that differ only there.
    return name.replace(".", "_")
