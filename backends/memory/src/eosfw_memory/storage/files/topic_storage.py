"""The storage of a broker's topics, in memory unless a subclass keeps files."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import UUID, uuid4

from eosfw.ids import TopicPartition
from eosfw_memory.storage.log.log_memory import LogMemory
from eosfw_memory.storage.log.log_storage import LogStorage
from eosfw_memory.storage.log.partition_log import PartitionLog

if TYPE_CHECKING:
    from eosfw.concurrency import Runtime
    from eosfw_memory.storage.files.group_fsync import GroupFsync

FIRST_PRODUCER_ID = 1000


@dataclass(frozen=True, slots=True)
class StoredTopic:
    """What is kept of a topic besides its records."""

    name: str
    topic_id: UUID
    partitions: int
    config: Mapping[str, str]
    broker_epoch: int = 0
    """The start of the broker in which it was created; the storage fills it in."""


@dataclass(frozen=True, slots=True)
class LogDirDescription:
    """Where the data are. Kafka's `LogDirDescription`."""

    name: str
    """The path of the directory; a text in parentheses for memory."""
    total_bytes: int = -1
    """Size of the file system; -1, as `usable_bytes`, where there is none."""
    usable_bytes: int = -1
    failed: bool = False
    """Whether writes are refused after a failure."""


class TopicStorage:
    """Keeps a broker's topics: here in memory, so that a start finds none; a `DataDirectory` keeps files.

    A change that cannot be kept raises KafkaStorageError and changes nothing.
    """

    producer_ids: Iterator[int]
    """Producer ids that no producer ever had."""

    def __init__(self, memory: LogMemory | None = None) -> None:
        self._memory = LogMemory() if memory is None else memory
        self.cluster_id = uuid4().hex[:22]
        self.producer_ids = itertools.count(FIRST_PRODUCER_ID)

    @property
    def restored(self) -> bool:
        """Whether the data are an older copy, so that clients may have seen records which are missing."""
        return False

    def topics(self) -> Sequence[StoredTopic]:
        """The topics at the start."""
        return ()

    def create(self, *topics: StoredTopic) -> None:
        """Keep topics from now on, all or none."""

    def change(self, topic: StoredTopic) -> None:
        """Keep a topic with other properties, or with more partitions, from now on."""

    def delete(self, topic: StoredTopic) -> None:
        """Delete a topic with its records."""

    def log_storage(self, topic: StoredTopic, partition: int) -> LogStorage:
        """The storage of one partition's segments."""
        return LogStorage(self._memory)

    def describe_log_dir(self) -> LogDirDescription:
        """Where the data are, with how much room there is."""
        return LogDirDescription("(memory)")

    def producers_fenced(self) -> None:
        """Save that the producers which may have seen more are fenced."""

    def begin_epoch(self) -> None:
        """Count a start, so that leader epochs of later starts differ from those of this one."""

    def group_fsync(self, lock: AbstractContextManager[object], runtime: Runtime) -> GroupFsync | None:
        """What delays answers until they are on the disk, if the storage waits for it; `lock` is the broker's."""

    def take_coordinator_snapshot(self, logs: Sequence[PartitionLog]) -> bytes | None:
        """The coordinators' snapshot of the last clean stop, unless these logs have changed; only once."""

    def save_coordinator_snapshot(self, logs: Sequence[PartitionLog], state: Callable[[], bytes]) -> None:
        """Keep a snapshot of the coordinators for the next start; the logs do not change any more."""

    def close(self, logs: Mapping[TopicPartition, PartitionLog]) -> None:
        """Leave all in good order."""
        for log in logs.values():
            log.close()

    def release(self) -> None:
        """Let others have it, with everything as it is."""
