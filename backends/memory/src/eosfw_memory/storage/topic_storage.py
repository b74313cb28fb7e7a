"""Say what a broker asks of the place that keeps its topics."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol
from uuid import UUID, uuid4

from eosfw.ids import TopicPartition
from eosfw_memory.log.log_storage import InMemoryLogStorage, LogStorage
from eosfw_memory.log.partition_log import PartitionLog

if TYPE_CHECKING:
    from eosfw.concurrency import Runtime
    from eosfw_memory.storage.group_fsync import GroupFsync

FIRST_PRODUCER_ID = 1000


@dataclass(frozen=True, slots=True)
class StoredTopic:
    """What is kept of a topic besides its records."""

    name: str
    topic_id: UUID
    partitions: int
    config: Mapping[str, str]
    broker_epoch: int = 0
    """In which start of the broker it was made; storage knows."""


@dataclass(frozen=True, slots=True)
class LogDirDescription:
    """Where everything is."""

    name: str
    """A directory's path; something that is none for memory."""
    total_bytes: int = -1
    """Of the file system; -1 where there is no such thing, as with `usable_bytes`."""
    usable_bytes: int = -1
    failed: bool = False
    """Whether it takes nothing any more."""


class TopicStorage(Protocol):
    """Where a broker's topics are; changes raise KafkaStorageError, with nothing changed, when they cannot be kept."""

    cluster_id: str
    producer_ids: Iterator[int]
    """Producer ids that nobody had before, whatever happened before."""

    @property
    def restored(self) -> bool:
        """Whether all is as it was some time ago, so that there may be clients who saw what came after it."""

    def topics(self) -> Sequence[StoredTopic]:
        """Those that were there at the start."""

    def create(self, *topics: StoredTopic) -> None:
        """Keep topics from now on, all or none."""

    def change(self, topic: StoredTopic) -> None:
        """Keep a topic with other properties, or with more partitions, from now on."""

    def delete(self, topic: StoredTopic) -> None:
        """Forget a topic with its records."""

    def log_storage(self, topic: StoredTopic, partition: int) -> LogStorage:
        """Where the segments of one partition are."""

    def describe_log_dir(self) -> LogDirDescription:
        """Where everything is, with how much room there is."""

    def producers_fenced(self) -> None:
        """Take note that clients who saw what is lost were shut out."""

    def begin_epoch(self) -> None:
        """Count a start, so that no later one leads a partition in the epochs of this one."""

    def group_fsync(self, lock: AbstractContextManager[object], runtime: Runtime) -> GroupFsync | None:
        """What holds answers back until they are on the disk, if anything does; `lock` is the broker's."""

    def take_coordinator_snapshot(self, logs: Sequence[PartitionLog]) -> bytes | None:
        """What was derived from these logs up to a clean stop, unless they are others now; only once."""

    def save_coordinator_snapshot(self, logs: Sequence[PartitionLog], state: Callable[[], bytes]) -> None:
        """Keep for the next start what was derived from logs that do not change any more."""

    def close(self, logs: Mapping[TopicPartition, PartitionLog]) -> None:
        """Leave all in good order."""

    def release(self) -> None:
        """Let others have it, with everything as it is."""


class InMemoryTopicStorage:
    """Nothing was there at the start, nothing stays."""

    def __init__(self) -> None:
        self.cluster_id = uuid4().hex[:22]
        self.producer_ids: Iterator[int] = itertools.count(FIRST_PRODUCER_ID)
        self.restored = False

    def topics(self) -> Sequence[StoredTopic]:
        return ()

    def create(self, *topics: StoredTopic) -> None:
        pass

    def change(self, topic: StoredTopic) -> None:
        pass

    def delete(self, topic: StoredTopic) -> None:
        pass

    def log_storage(self, topic: StoredTopic, partition: int) -> LogStorage:
        return InMemoryLogStorage()

    def describe_log_dir(self) -> LogDirDescription:
        return LogDirDescription("(memory)")

    def producers_fenced(self) -> None:
        pass

    def begin_epoch(self) -> None:
        pass

    def group_fsync(self, lock: AbstractContextManager[object], runtime: Runtime) -> None:
        return None

    def take_coordinator_snapshot(self, logs: Sequence[PartitionLog]) -> None:
        pass

    def save_coordinator_snapshot(self, logs: Sequence[PartitionLog], state: Callable[[], bytes]) -> None:
        pass

    def close(self, logs: Mapping[TopicPartition, PartitionLog]) -> None:
        pass

    def release(self) -> None:
        pass
