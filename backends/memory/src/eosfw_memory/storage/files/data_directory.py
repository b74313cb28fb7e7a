"""Keep a broker's topics in a data directory. Kafka's `LogManager`, as far as it knows files."""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final, Self

from eosfw.concurrency import Runtime
from eosfw.errors import DamagedDataError
from eosfw.ids import TopicPartition
from eosfw.open_files import allow_many_files
from eosfw_memory.common.log_errors import KafkaStorageError
from eosfw_memory.storage.files.broker_epoch import BrokerEpoch
from eosfw_memory.storage.files.checkpoints import OffsetCheckpointFile
from eosfw_memory.storage.files.checksummed_file import LogFingerprint
from eosfw_memory.storage.files.consistency import (
    lost_producer_ids,
    stray_directories,
    topics_newer_than_epoch,
    unreadable,
)
from eosfw_memory.storage.files.coordinator_snapshot_file import save_coordinator_snapshot, take_coordinator_snapshot
from eosfw_memory.storage.files.disk import FAILED, RUNNING, TEMPORARY, Disk, OperatingSystem
from eosfw_memory.storage.files.group_fsync import GroupFsync
from eosfw_memory.storage.files.lock_file import acquire, refuse_memory
from eosfw_memory.storage.files.meta_properties import cluster_id
from eosfw_memory.storage.files.producer_ids import ProducerIds
from eosfw_memory.storage.files.segments.file_log_storage import FileLogStorage
from eosfw_memory.storage.files.segments.file_segment import FileSegment
from eosfw_memory.storage.files.segments.log_loader import LogLoader, PartitionRecovery, PreviousRun
from eosfw_memory.storage.files.segments.segment_join import finish
from eosfw_memory.storage.files.topic_journal import TopicJournal
from eosfw_memory.storage.files.topic_storage import LogDirDescription, StoredTopic, TopicStorage
from eosfw_memory.storage.log.log_storage import LogStorage
from eosfw_memory.storage.log.partition_log import PartitionLog

_LOG = logging.getLogger(__name__)
_WAITS: Final = b"flush=fsync\n"


class DataDirectory(TopicStorage):
    """The topics of one broker in files, locked against any other."""

    def __init__(self, disk: Disk, lock: int, node_id: int) -> None:
        self.disk = disk
        self._lock: int | None = lock
        self.cluster_id = cluster_id(disk, node_id)
        self._boot = disk.boot_id()
        self._previous_run = _previous_run(disk.root, self._boot)
        self._journal = TopicJournal(disk, doubtful=self._previous_run.doubtful)
        self._topics: Mapping[str, StoredTopic] = self._journal.topics
        self._broker_epoch = BrokerEpoch(disk)
        self.producer_ids: Iterator[int] = iter(())
        self._starts = OffsetCheckpointFile(disk, "log-start-offset-checkpoint")
        self._cleaned = OffsetCheckpointFile(disk, "cleaner-offset-checkpoint")
        self._found: dict[TopicPartition, PartitionRecovery] = {}

    @classmethod
    def open(cls, root: Path, *, waits: bool, node_id: int, system: OperatingSystem | None = None) -> Self:
        """Lock the directory and recover it.

        Raises ConfigError for a directory that cannot be used, DamagedDataError, with nothing changed, for one whose
        data cannot be trusted.
        """
        # Whatever fails from here on has to close it: the directory is locked for as long as the descriptor is open.
        lock, system = acquire(root), OperatingSystem() if system is None else system
        allow_many_files()
        try:
            if waits:
                refuse_memory(root, system.file_system(root))
            made = cls(Disk(root, system, waits=waits), lock, node_id)
            made._recover()
        except KafkaStorageError as why:
            os.close(lock)
            raise DamagedDataError(str(why)) from why
        except OSError as why:
            os.close(lock)
            raise unreadable(root, why) from why
        except BaseException:
            os.close(lock)
            raise
        return made

    @property
    def restored(self) -> bool:
        # On a full disk nobody can be fenced, and nobody can write: the first start with room fences them.
        return self._broker_epoch.restored and self.disk.failed is None

    def producers_fenced(self) -> None:
        self._broker_epoch.producers_fenced()

    def topics(self) -> Sequence[StoredTopic]:
        return list(self._topics.values())

    def create(self, *topics: StoredTopic) -> None:
        self._keep([replace(topic, broker_epoch=self._broker_epoch.number) for topic in topics])

    def change(self, topic: StoredTopic) -> None:
        self._keep([replace(topic, broker_epoch=self._topics[topic.name].broker_epoch)])

    def _keep(self, topics: Sequence[StoredTopic]) -> None:
        """Make the directories of all partitions that are new, then list the topics."""
        made: list[Path] = []
        try:
            for topic in topics:
                made += self._made(topic)
            if made:
                self.disk.sync_directory(self.disk.root)  # a listed directory must exist after a crash
            self._journal.put(topics)
        except (OSError, KafkaStorageError) as why:
            if self.disk.failed is None:  # else the list may have the topics all the same
                for directory in made:
                    self.disk.remove_directory(directory)
            if isinstance(why, KafkaStorageError):
                raise
            raise KafkaStorageError(f"topic {topics[0].name}: {why.filename}: {why.strerror}") from why

    def _made(self, topic: StoredTopic) -> Iterator[Path]:
        """The directories of those partitions of a topic that are not listed."""
        before = self._topics.get(topic.name)
        for partition in range(0 if before is None else before.partitions, topic.partitions):
            directory = self._directory(topic, partition)
            # A creation that was cut short leaves empty ones.
            if not directory.is_dir() or any(directory.iterdir()):
                self.disk.make_directory(directory)
            yield directory

    def delete(self, topic: StoredTopic) -> None:
        # Unlisted first: after a crash between the two, the next start deletes the files.
        self._journal.delete(topic)
        self._finish_deleting()

    def log_storage(self, topic: StoredTopic, partition: int) -> LogStorage:
        where = TopicPartition(topic.name, partition)
        found = self._found.pop(where, None)
        log_storage = self._new_log_storage(topic, partition) if found is None else found.log_storage
        log_storage.leader_epoch = self._leader_epoch(self._topics[topic.name])
        log_storage.on_log_start_offset = partial(self._starts.put, where)
        log_storage.on_first_dirty_offset = partial(self._cleaned.put, where)
        return log_storage

    def describe_log_dir(self) -> LogDirDescription:
        total, _, usable = shutil.disk_usage(self.disk.root)
        return LogDirDescription(str(self.disk.root), total, usable, failed=self.disk.failed is not None)

    def begin_epoch(self) -> None:
        self._broker_epoch.begin()

    def group_fsync(self, lock: AbstractContextManager[object], runtime: Runtime) -> GroupFsync | None:
        return GroupFsync(self.disk, lock, runtime) if self.disk.waits else None

    def take_coordinator_snapshot(self, logs: Sequence[PartitionLog]) -> bytes | None:
        return take_coordinator_snapshot(self.disk, list(map(_fingerprint_of, logs)))

    def save_coordinator_snapshot(self, logs: Sequence[PartitionLog], state: Callable[[], bytes]) -> None:
        if self.disk.failed is None:
            with suppress(KafkaStorageError):  # then the next start reads the logs
                save_coordinator_snapshot(self.disk, list(map(_fingerprint_of, logs)), state())

    def close(self, logs: Mapping[TopicPartition, PartitionLog]) -> None:
        try:
            for log in logs.values():
                log.close()
            if self.disk.failed is None:
                self._journal.snapshot()
                self.disk.remove(self.disk.root / RUNNING)
        finally:
            self.release()

    def release(self) -> None:
        self._journal.close()
        lock, self._lock = self._lock, None  # closing twice could close a file that got the same number
        if lock is not None:
            os.close(lock)

    # --- the start

    def _recover(self) -> None:
        """Read everything first, so that a directory with damage is left unchanged."""
        previous_run = replace(self._previous_run, restored=self.restored)
        self._found = {
            TopicPartition(topic.name, partition): self._search(topic, partition, previous_run)
            for topic in self._topics.values()
            for partition in range(topic.partitions)
        }
        damage = [problem for found in self._found.values() for problem in found.damage]
        damage += self._inconsistencies()
        if damage:
            raise DamagedDataError("\n".join(damage))
        for found in self._found.values():
            found.log_storage.keep(found.kept)
        self.producer_ids = producer_ids = ProducerIds(self.disk)
        try:  # The first changes. Everything was read before, so a start that refuses damage has changed nothing.
            if self.disk.waits and not previous_run.stopped:
                self._confirm(again=previous_run.disk_failed)
            producer_ids.begin(leap=self.restored)
            self._begin()
        except KafkaStorageError:
            # What is missing of the repairs matters to writers alone, and a failed disk takes no writes. The next
            # start begins with the same: the mark of the previous run and the broker epoch are the last to be written.
            if not self.disk.full:
                raise

    def _confirm(self, *, again: bool) -> None:
        """Have on the disk what the killed process left to the system: from now on readers take it for acknowledged."""
        for found in self._found.values():
            if found.kept is not None:
                if again:
                    found.log_storage.write_again(found.kept.segments[-1])
                found.log_storage.sync(found.kept.segments)

    def _begin(self) -> None:
        """Finish what the previous run left undone, then count this run."""
        self._finish_deleting()
        self._journal.snapshot()
        for where, found in self._found.items():
            self._repair(where, found)
        # Behind all repairs: a crash before this line leaves the mark that says how the previous run ended.
        self.disk.replace(self.disk.root / RUNNING, self._boot + (_WAITS if self.disk.waits else b""), durable=True)
        self.disk.remove(self.disk.root / FAILED)
        if self.restored:
            _LOG.warning(
                "%s was restored from a copy, or moved: leader epochs and producer ids leap, holders of transactional "
                "ids are fenced; consumers may stand behind what is lost",
                self.disk.root,
            )
        self._broker_epoch.begin()

    def _search(self, topic: StoredTopic, partition: int, previous_run: PreviousRun) -> PartitionRecovery:
        log_storage = self._new_log_storage(topic, partition)
        log_storage.leader_epoch = self._leader_epoch(topic)
        if not log_storage.directory.is_dir():
            return PartitionRecovery(
                log_storage, damage=[f"{log_storage.directory}: is missing: restore it from a copy"]
            )
        where = TopicPartition(topic.name, partition)
        gaps = self._may_have_gaps(topic, where, previous_run)
        found = LogLoader(log_storage, self.disk, gaps=gaps, previous_run=previous_run).run()
        if found.kept is not None:
            first, end = found.kept.segments[0].base_offset, found.kept.segments[-1].end_offset
            found.kept.start_offset = min(max(self._starts.offsets.get(where, 0), first), end)
            found.kept.first_dirty_offset = self._cleaned.offsets.get(where, 0)
        return found

    def _may_have_gaps(self, topic: StoredTopic, where: TopicPartition, previous_run: PreviousRun) -> bool:
        """Whether offsets may be missing, as compaction leaves a log; elsewhere a missing one shows damage."""
        if where in self._cleaned.offsets:
            return True
        # The checkpoint is written before the first compaction, but may not have reached the disk.
        lost = previous_run.doubtful or previous_run.restored
        return lost and "compact" in topic.config.get("cleanup.policy", "")

    def _inconsistencies(self) -> list[str]:
        """What contradicts each other in the directory."""
        root, listed, started = self.disk.root, self._topics.values(), self._broker_epoch.number
        every = (*listed, *self._journal.deleting.values())
        known = {self._directory(topic, n) for topic in every for n in range(topic.partitions)}
        states = [found.kept.state for found in self._found.values() if found.kept is not None]
        return (
            stray_directories(root, known)
            + lost_producer_ids(root, states, started)
            + topics_newer_than_epoch(root, listed, started)
        )

    def _repair(self, where: TopicPartition, found: PartitionRecovery) -> None:
        log_storage = found.log_storage
        for path in sorted(log_storage.directory.glob(f"*{TEMPORARY}")):
            self.disk.remove(path)
        for path, whole, size in found.cuts:
            self.disk.truncate(path, whole)
            _LOG.warning("%s: %d bytes of an unfinished write were cut off at byte %d", path, size - whole, whole)
        for path in found.superfluous:
            self.disk.remove(path)
        for joined in found.joined:
            finish(self.disk, found.file_at(joined.base_offset), joined)
        if found.superfluous:  # files about more than the log holds must not come back
            self.disk.sync_directory(log_storage.directory)
        for path, content in found.repairs:
            self.disk.replace(path, content, durable=False)
        segments = () if found.kept is None else found.kept.segments
        if where not in self._cleaned.offsets and any(segment.sparse for segment in segments):
            self._cleaned.put(where, 0)  # the note was lost, and the next start must not take the gaps for damage
        beside = [
            path.name for path in log_storage.directory.iterdir() if path.suffix not in (".log", ".index", ".snapshot")
        ]
        if beside:
            _LOG.warning("%s: %s was left alone, it is no file of %s", log_storage.directory, beside[0], where)

    # --- inside

    def _leader_epoch(self, topic: StoredTopic) -> int:
        return self._broker_epoch.leader_epoch(topic.broker_epoch)

    def _new_log_storage(self, topic: StoredTopic, partition: int) -> FileLogStorage:
        return FileLogStorage(self._directory(topic, partition), topic.topic_id, partition, self.disk)

    def _directory(self, topic: StoredTopic, partition: int) -> Path:
        return self.disk.root / f"{topic.name}-{partition}"

    def _finish_deleting(self) -> None:
        if not self._journal.deleting:
            return
        for topic in self._journal.deleting.values():
            for partition in range(topic.partitions):
                self.disk.remove_directory(self._directory(topic, partition))
            for checkpoint in (self._starts, self._cleaned):
                checkpoint.forget(topic.name)
        self.disk.sync_directory(self.disk.root)  # a directory that is no longer listed must be gone after a crash
        self._journal.deleted()


def _fingerprint_of(log: PartitionLog) -> LogFingerprint:
    log_storage, segment = log.log_storage, log.active_segment
    assert isinstance(log_storage, FileLogStorage)
    assert isinstance(segment, FileSegment)
    return log_storage.fingerprint(segment)


def _previous_run(root: Path, boot: bytes) -> PreviousRun:
    running, failed = root / RUNNING, root / FAILED
    if failed.exists():
        running = failed
    if not running.exists():
        return PreviousRun(stopped=True)
    kept = running.read_bytes()
    went_down = kept.removesuffix(_WAITS) != boot
    return PreviousRun(machine_went_down=went_down, disk_failed=failed.exists(), waited=kept.endswith(_WAITS))
