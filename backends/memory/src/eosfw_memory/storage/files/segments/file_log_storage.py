"""Keep one partition's segments in a directory, with their indexes and snapshots."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from uuid import UUID

from eosfw_memory.storage.files.checksummed_file import (
    LogFingerprint,
    decode_checksummed,
    encode_checksummed,
    encode_framed,
)
from eosfw_memory.storage.files.disk import TEMPORARY, DataFile, Disk
from eosfw_memory.storage.files.segments.file_segment import INDEX, LOG, SNAPSHOT, FileSegment, file_name
from eosfw_memory.storage.files.segments.producer_snapshot import KIND as SNAPSHOT_KIND
from eosfw_memory.storage.files.segments.producer_snapshot import encode_producers
from eosfw_memory.storage.files.segments.segment_index import KIND as INDEX_KIND
from eosfw_memory.storage.files.segments.segment_index import encode_index
from eosfw_memory.storage.files.segments.segment_join import join
from eosfw_memory.storage.log.log_storage import LoadedLog, LogState, LogStorage
from eosfw_memory.storage.log.segment import Segment
from eosfw_memory.storage.log.transaction_index import TransactionIndex
from eosfw_memory.storage.records.batch import header_at

Note = Callable[[int], None]
_PIECE = 1 << 20


class FileLogStorage(LogStorage):
    """The files of one partition."""

    checkpoint_bytes = 16 << 20
    """A start scans as much in a quarter of a second, in batches of one record."""

    def __init__(self, directory: Path, topic_id: UUID, partition: int, disk: Disk) -> None:
        super().__init__()
        self.directory = directory
        self.topic_id = topic_id
        self.partition = partition
        self._disk = disk
        self._kept: LoadedLog | None = None
        self.leader_epoch = 0
        """The leader epoch of the partition from its loading on."""
        self.on_log_start_offset: Note = lambda _: None
        self.on_first_dirty_offset: Note = lambda _: None

    @property
    def failed(self) -> str | None:
        return self._disk.failed

    def failure_message(self) -> str:
        why = f"{self.directory.name}: takes no more records: {self._disk.failed}"
        self._disk.report("failure", self.directory, why)
        return why

    def describe_position(self, offset: int) -> str:
        begins = (int(path.stem) for path in self.directory.glob(f"*{LOG}") if path.stem.isdecimal())
        holding = max((base for base in begins if base <= offset), default=0)
        return f"{self.directory / file_name(holding, LOG)} (offset {offset})"

    def keep(self, kept: LoadedLog | None) -> None:
        """Set what `load` gives."""
        self._kept = kept

    def load(self) -> LoadedLog:
        kept, self._kept = self._kept, None
        if kept is None:
            kept = LoadedLog([self._fresh(0)])
        kept.leader_epoch = self.leader_epoch
        return kept

    def new_segment(self, base_offset: int) -> Segment:
        made = self._fresh(base_offset)
        made.file.descriptor()  # the name of an empty file still says at which offset the log continues
        if self._disk.waits:
            self._disk.sync_directory(self.directory)
        return made

    def save_log_start_offset(self, offset: int) -> None:
        self.on_log_start_offset(offset)

    def save_first_dirty_offset(self, offset: int) -> None:
        self.on_first_dirty_offset(offset)

    def checkpoint(self, segment: Segment, state: LogState) -> None:
        assert isinstance(segment, FileSegment)
        if self._disk.waits:  # an index on the disk proves that its batches were there
            self._disk.sync_file(segment.file)
        if segment.snapshot_at == segment.end_offset and segment.indexed == len(segment):
            return
        fingerprint = self.fingerprint(segment)
        part = encode_framed(
            encode_checksummed(INDEX_KIND, fingerprint, encode_index(segment, state.aborted, segment.indexed))
        )
        # Neither is waited for: both can be made again from the batches.
        self._disk.add(self.directory / file_name(segment.base_offset, INDEX), part, segment.index_size)
        segment.indexed, segment.index_size = len(segment), segment.index_size + len(part)
        before, segment.snapshot_at = segment.snapshot_at, segment.end_offset
        self._disk.replace(*self._snapshot(fingerprint, state), durable=False)
        if before is not None and before not in (segment.base_offset, segment.end_offset):
            self._disk.remove(self.directory / file_name(before, SNAPSHOT))

    def files_beside(self, segment: FileSegment, state: LogState) -> list[tuple[Path, bytes]]:
        """The index and the snapshot of a segment with the state at its end, as paths with content."""
        fingerprint = self.fingerprint(segment)
        return [self._index(segment, state.aborted), self._snapshot(fingerprint, state)]

    def _index(self, segment: FileSegment, aborted: TransactionIndex) -> tuple[Path, bytes]:
        """The whole index in one part, with its place."""
        whole = encode_framed(encode_checksummed(INDEX_KIND, self.fingerprint(segment), encode_index(segment, aborted)))
        segment.indexed, segment.index_size = len(segment), len(whole)
        return self.directory / file_name(segment.base_offset, INDEX), whole

    def _snapshot(self, fingerprint: LogFingerprint, state: LogState) -> tuple[Path, bytes]:
        content = encode_checksummed(SNAPSHOT_KIND, fingerprint, encode_producers(state.producers))
        return self.directory / file_name(fingerprint.end_offset, SNAPSHOT), content

    def replace_segments(
        self, segments: Sequence[Segment], batches: Iterable[bytes], aborted: TransactionIndex
    ) -> Segment:
        old = [segment for segment in segments if isinstance(segment, FileSegment)]
        made = self._fresh(old[0].base_offset)
        made.file = DataFile(old[0].file.path.with_name(old[0].file.path.name + TEMPORARY))
        for batch in batches:
            self._disk.write(made.file, [batch], made.size)
            made.index_stamped_batch(header_at(batch, 0), made.size + len(batch))
        made.take_epochs_of(old)
        # A rename replaces one file at once. Several need a name that says which of them no longer count.
        if len(old) == 1:
            self._swap(old[0], made)
        else:
            join(self._disk, old, made)
        self._disk.replace(*self._index(made, aborted), durable=False)
        self._reseal_snapshot(made)
        return made

    def delete_segment(self, segment: Segment) -> None:
        assert isinstance(segment, FileSegment)
        for suffix in (INDEX, SNAPSHOT):  # the snapshot at the next segment stays: a replay begins there
            self._disk.remove(self.directory / file_name(segment.base_offset, suffix))
        self._disk.remove_data_file(segment.file)
        if self._disk.waits and self.directory.is_dir():
            # Otherwise a crash could bring this segment back and lose the one deleted after it: a gap.
            self._disk.sync_directory(self.directory)

    def close(self, segments: list[Segment], state: LogState) -> None:
        last = segments[-1]
        if last.size and self.failed is None:
            # Before the index, which proves to the next start that its batches were there.
            self.sync(segments)
            self.checkpoint(last, state)
        for segment in segments:
            if isinstance(segment, FileSegment):
                segment.file.close()

    def sync(self, segments: Sequence[Segment]) -> None:
        """Wait until segments and their names are on the disk."""
        for segment in segments:
            if isinstance(segment, FileSegment) and segment.size:
                was_open = segment.file.is_open  # there may be more segments than a process may have files open
                self._disk.sync_file(segment.file)
                if not was_open:
                    segment.file.close()
        self._disk.sync_directory(self.directory)

    def write_again(self, segment: Segment) -> None:
        """Put a copy in the place of a segment: of a write whose fsync has failed no later fsync says anything."""
        if not isinstance(segment, FileSegment) or not segment.size:
            return
        copy = DataFile(segment.file.path.with_name(segment.file.path.name + TEMPORARY))
        self._disk.remove(copy.path)
        for at in range(0, segment.size, _PIECE):
            self._disk.write(copy, [segment.file.read(min(_PIECE, segment.size - at), at)], at)
        self._disk.sync_file(copy)
        self._disk.rename(copy, segment.file.path)
        for file in (copy, segment.file):
            file.close()

    def fingerprint(self, segment: FileSegment) -> LogFingerprint:
        """What a log must still be for the files about a segment to be used."""
        return LogFingerprint(
            self.topic_id, self.partition, segment.base_offset, segment.end_offset, segment.size, segment.last_crc()
        )

    def _fresh(self, base_offset: int) -> FileSegment:
        return FileSegment(base_offset, self.directory, self._disk)

    def _swap(self, old: FileSegment, new: FileSegment) -> None:
        """Replace the file of a segment by a whole new one."""
        if self._disk.waits:
            self._disk.sync_file(new.file)
        self._disk.rename(new.file, old.file.path)
        old.file.close()
        if self._disk.waits:
            self._disk.sync_directory(self.directory)

    def _reseal_snapshot(self, segment: FileSegment) -> None:
        """Save the snapshot behind a rewritten segment under its new fingerprint: the state is as before."""
        path = self.directory / file_name(segment.end_offset, SNAPSHOT)
        found = decode_checksummed(SNAPSHOT_KIND, path.read_bytes()) if path.exists() else None
        if found is not None:
            self._disk.replace(
                path, encode_checksummed(SNAPSHOT_KIND, self.fingerprint(segment), bytes(found[1])), durable=False
            )
