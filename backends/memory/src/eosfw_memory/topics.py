"""Keep the topics of a broker with their partitions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from uuid import UUID, uuid4

from eosfw.ids import TopicPartition
from eosfw_memory.codes import Code, KafkaError
from eosfw_memory.log.partition import PartitionLog
from eosfw_memory.topic_config import checked_config, log_config

TRANSACTION_LOG = "__transaction_state"
MAX_PARTITIONS = 10_000
"""More in one topic would only be a mistake on one machine."""

_LEGAL_NAME = re.compile(r"[a-zA-Z0-9._-]{1,249}")


class Partition:
    """One partition: its log, with those who wait for the log to grow."""

    __slots__ = ("_waiting", "log")

    def __init__(self, log: PartitionLog) -> None:
        self.log = log
        self._waiting: set[Callable[[], None]] = set()

    def subscribe(self, wake: Callable[[], None]) -> None:
        """Call `wake` at each change, on the thread that made it."""
        self._waiting.add(wake)

    def unsubscribe(self, wake: Callable[[], None]) -> None:
        """Call it no more."""
        self._waiting.discard(wake)

    def changed(self) -> None:
        """Tell those who wait that the log has grown."""
        if self._waiting:
            for wake in tuple(self._waiting):
                wake()


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
        return self.name == TRANSACTION_LOG


class Topics:
    """Every topic, by name or id."""

    def __init__(self) -> None:
        self._by_name: dict[str, Topic] = {}
        self._by_id: dict[UUID, Topic] = {}

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
        """Raise what Kafka answers when such a topic cannot be created."""
        if not _LEGAL_NAME.fullmatch(name) or name in (".", ".."):
            raise KafkaError(
                Code.INVALID_TOPIC_EXCEPTION, f"topic name {name!r} is illegal: use 1 to 249 of a-zA-Z0-9._-"
            )
        if name in self._by_name:
            raise KafkaError(Code.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
        twin = next((other for other in self._by_name if _folded(other) == _folded(name)), None)
        if twin is not None:
            raise KafkaError(Code.INVALID_TOPIC_EXCEPTION, f"Topic '{name}' collides with existing topic: {twin}")
        if not 0 < partitions <= MAX_PARTITIONS:
            raise KafkaError(
                Code.INVALID_PARTITIONS, f"number of partitions must be 1 to {MAX_PARTITIONS}, not {partitions}"
            )
        checked_config(config)

    def create(self, name: str, partitions: int, config: Mapping[str, str]) -> Topic:
        """Add a topic; raise what Kafka answers when that is not possible."""
        self.check(name, partitions, config)
        rules = log_config(config)
        made = tuple(Partition(PartitionLog(TopicPartition(name, n), rules)) for n in range(partitions))
        topic = Topic(name, uuid4(), made, dict(config))
        self._by_name[name] = topic
        self._by_id[topic.topic_id] = topic
        return topic

    def delete(self, topic: Topic) -> None:
        """Forget a topic with its data; waiting readers hear of it."""
        del self._by_name[topic.name]
        del self._by_id[topic.topic_id]
        for partition in topic.partitions:
            partition.changed()


def _folded(name: str) -> str:
    # Kafka's metric names cannot tell '.' from '_', so it refuses names that differ only there.
    return name.replace(".", "_")
