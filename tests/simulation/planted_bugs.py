"""Bugs that are planted to see that the simulation finds them; each takes one protection away."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from eosfw.builtin.fencer import AdminFencer
from eosfw.ids import ProducerIdAndEpoch
from eosfw.protocols import IsolationLevel
from eosfw.runtime.storage.offset_storage_reader import OffsetStorageReader
from eosfw.runtime.tasks.startup import TaskStartup
from eosfw.runtime.tasks.transaction import SourceTaskTransaction
from eosfw.state.group.request_signature import SignatureRules
from eosfw.state.tasks.poll_batch import PollBatch
from eosfw_memory.server.coordinators.transaction_coordinator import TransactionCoordinator
from eosfw_memory.storage.files import topic_journal
from eosfw_memory.storage.files.broker_epoch import NAME as BROKER_EPOCH_FILE
from eosfw_memory.storage.files.disk import DataFile, Disk, Unsynced
from eosfw_memory.storage.files.group_fsync import GroupFsync
from eosfw_memory.storage.files.segments.file_segment import FileSegment
from eosfw_memory.storage.log import producer_state

Plant = Callable[[pytest.MonkeyPatch], None]


def skip_fencing(patch: pytest.MonkeyPatch) -> None:
    """The leader fences nobody, and writes the task count record all the same."""
    patch.setattr(AdminFencer, "fence", lambda _, ids, timeout: dict.fromkeys(ids))  # noqa: ARG005 - as it is called


def commit_offsets_first(patch: pytest.MonkeyPatch) -> None:
    """Source offsets are committed in a transaction of their own, before the records that they belong to."""
    send = SourceTaskTransaction.send

    def offsets_first(self: SourceTaskTransaction, batches: Sequence[PollBatch]) -> None:
        for batch in batches:
            for partition, offset in batch.positions:
                self._output.pending_offsets.note(partition, offset)
        self._commit(overlap=False)
        send(self, batches)

    patch.setattr(SourceTaskTransaction, "send", offsets_first)


def read_offsets_up_to_open_transactions(patch: pytest.MonkeyPatch) -> None:
    """A task reads offsets up to the first open transaction, not to the end of the topic."""
    ranges = OffsetStorageReader._ranges

    def stable_ranges(self: OffsetStorageReader, topic: str) -> object:
        with pytest.MonkeyPatch.context() as within:
            ends = self._admin.end_offsets
            within.setattr(self._admin, "end_offsets", lambda ones, _: ends(ones, IsolationLevel.READ_COMMITTED))
            return ranges(self, topic)

    patch.setattr(OffsetStorageReader, "_ranges", stable_ranges)


def admit_zombies(patch: pytest.MonkeyPatch) -> None:
    """The broker takes requests of every epoch of a producer id."""
    patch.setattr(producer_state, "_check_epoch", lambda *_: None)
    for name in ("end", "end_with_epoch_bump", "add_partitions", "verify"):
        patch.setattr(TransactionCoordinator, name, _in_newest_epoch(getattr(TransactionCoordinator, name)))


def _in_newest_epoch(method: Callable[..., Any]) -> Callable[..., Any]:
    def call(self: TransactionCoordinator, name: str, producer: ProducerIdAndEpoch, *more: Any) -> Any:
        known = self.describe(name)
        newest = producer if known is None else producer._replace(epoch=known.epoch)
        return method(self, name, newest, *more)

    return call


def check_no_ownership(patch: pytest.MonkeyPatch) -> None:
    """A task does not look whether it still owns its share, neither before nor after its producer is initialised."""
    patch.setattr(TaskStartup, "_refuse_unless_owner", lambda *_: None)


def take_requests_from_the_future(patch: pytest.MonkeyPatch) -> None:
    """A worker accepts what was signed by a clock that is ahead of its own, however far."""
    freshness = SignatureRules._freshness
    patch.setattr(SignatureRules, "_freshness", lambda self, time, *more: freshness(self, min(time, more[-1]), *more))


def acknowledge_before_fsync(patch: pytest.MonkeyPatch) -> None:
    """The broker answers without waiting for the disk."""
    patch.setattr(GroupFsync, "after_fsync", lambda _, serve, acknowledges: serve())  # noqa: ARG005 - as it is called


def count_starts_in_place(patch: pytest.MonkeyPatch) -> None:
    """A start empties the file that counts starts, then writes into it."""

    def replace(disk: Disk, path: Path, content: bytes, *, durable: bool) -> None:
        if path.name != BROKER_EPOCH_FILE:
            shipped(disk, path, content, durable=durable)
            return
        with disk._final_failure(path), closing(DataFile(path)) as file:
            disk._system.truncate(file.descriptor(), 0)
            disk._system.write(file.descriptor(), [content], 0)
            disk._system.sync(file.descriptor())

    shipped = Disk.replace
    patch.setattr(Disk, "replace", replace)


def try_fsync_again(patch: pytest.MonkeyPatch) -> None:
    """The broker takes the success of a second fsync for that of the first."""

    def sync(disk: Disk, files: Sequence[Unsynced]) -> None:
        for file in files:
            for _ in range(3):
                with suppress(OSError):
                    disk._system.sync(file.descriptor)
                    break
            os.close(file.descriptor)

    patch.setattr(Disk, "sync", sync)


def overlook_a_full_disk(patch: pytest.MonkeyPatch) -> None:
    """The broker goes on when the disk has not taken what it appends."""

    def write(disk: Disk, file: DataFile, pieces: Sequence[bytes | memoryview], at: int) -> None:
        with suppress(OSError):
            disk._system.write(file.descriptor(), pieces, at)
        disk.written += 1
        disk._unsynced[file] = None

    patch.setattr(Disk, "write", write)


def read_without_checksums(patch: pytest.MonkeyPatch) -> None:
    """A reader gets the batches of a segment as they are."""
    patch.setattr(FileSegment, "_check", lambda *_: None)


def take_damage_for_a_torn_line(patch: pytest.MonkeyPatch) -> None:
    """A start drops whatever it cannot read at the end of the journal of topics."""
    patch.setattr(topic_journal, "_torn", lambda *_, zeros: True)  # noqa: ARG005 - as it is called


BUGS: Mapping[str, Plant] = {
    "fencing is skipped": skip_fencing,
    "offsets are committed before their records": commit_offsets_first,
    "offsets are not read to the end": read_offsets_up_to_open_transactions,
    "zombies are not refused": admit_zombies,
    "ownership is not checked": check_no_ownership,
    "requests from the future are taken": take_requests_from_the_future,
    "what is acknowledged is not on the disk": acknowledge_before_fsync,
    "a recovery cannot be cut short": count_starts_in_place,
    "a second fsync is taken for the first": try_fsync_again,
    "a full disk is overlooked": overlook_a_full_disk,
    "a reader compares no checksum": read_without_checksums,
    "damage is taken for a torn line": take_damage_for_a_torn_line,
}
