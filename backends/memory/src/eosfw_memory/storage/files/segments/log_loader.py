"""Find out what of a partition is whole on the disk, without changing anything. Kafka's `LogLoader`.

Index and snapshot of a segment are used where they fit the bytes they were made from. The batches behind the last such
pair are read one by one, every checksum is compared, and they are replayed. So a start after a clean stop reads no
batch, a start after a crash those behind the last checkpoint. Without any index or snapshot the log alone gives the
same state.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from eosfw_memory.common.log_errors import LogError
from eosfw_memory.storage.files.checksummed_file import LogFingerprint, decode_checksummed, decode_framed
from eosfw_memory.storage.files.disk import DataFile, Disk
from eosfw_memory.storage.files.segments.file_log_storage import FileLogStorage
from eosfw_memory.storage.files.segments.file_segment import INDEX, LOG, SNAPSHOT, FileSegment, file_name
from eosfw_memory.storage.files.segments.producer_snapshot import KIND as SNAPSHOT_KIND
from eosfw_memory.storage.files.segments.producer_snapshot import decode_state
from eosfw_memory.storage.files.segments.recorded_extent import RecordedExtent, recorded_extent
from eosfw_memory.storage.files.segments.segment_index import KIND as INDEX_KIND
from eosfw_memory.storage.files.segments.segment_index import decode_index
from eosfw_memory.storage.files.segments.segment_join import Joined, joined_in
from eosfw_memory.storage.files.segments.segment_scan import ExpectedBatch, SegmentScan, scan
from eosfw_memory.storage.log.leader_epochs import NO_LEADER
from eosfw_memory.storage.log.log_storage import LoadedLog, LogState
from eosfw_memory.storage.log.producer_state_replay import replay
from eosfw_memory.storage.log.transaction_index import AbortedTxn
from eosfw_memory.storage.records.batch import HeaderFields

_DIGITS = 20


@dataclass(slots=True)
class PartitionRecovery:
    """What a start found in the directory of one partition, and what has to be done about it."""

    log_storage: FileLogStorage
    kept: LoadedLog | None = None
    damage: list[str] = field(default_factory=list)
    """Why the partition must not be served: file, position, what is wrong."""
    cuts: list[tuple[Path, int, int]] = field(default_factory=list)
    """Files to truncate, with the size to leave and the present size: the torn end of a last write."""
    repairs: list[tuple[Path, bytes]] = field(default_factory=list)
    """Files to write again, with their content."""
    superfluous: list[Path] = field(default_factory=list)
    """Indexes and snapshots to remove: their batches are gone."""
    joined: list[Joined] = field(default_factory=list)
    """Files that replace several segments, some of which may still exist."""

    def file_at(self, base_offset: int) -> DataFile:
        """The file of the segment that begins there."""
        segments = [] if self.kept is None else self.kept.segments
        return next(each.file for each in segments if isinstance(each, FileSegment) and each.base_offset == base_offset)


@dataclass(frozen=True, slots=True)
class PreviousRun:
    """How the previous broker on a directory ended."""

    stopped: bool = False
    """Cleanly, with everything on the disk."""
    machine_went_down: bool = False
    """The machine crashed: any write since the last fsync may be missing, even one before another that is there."""
    restored: bool = False
    """Files were replaced by older copies, and newer files may have stayed beside them."""
    disk_failed: bool = False
    """So of what it had not confirmed anything may be missing, or be in the memory of the system alone."""
    waited: bool = False
    """Whether it waited for the disk, as with `--flush=fsync`."""

    @property
    def shuffled(self) -> bool:
        """Whether an unacknowledged write may be missing before one that is there.

        After a run without fsync such a gap means lost records, which is damage.
        """
        return self.doubtful and self.waited

    @property
    def doubtful(self) -> bool:
        """Whether any write may be missing or torn that no fsync has confirmed."""
        return self.machine_went_down or self.disk_failed

    @property
    def kept_order(self) -> bool:
        """Whether a file about a segment proves that the segment was there."""
        return not self.restored and (self.waited or not self.doubtful)


class LogLoader:
    """Looks through the directory of one partition, once."""

    def __init__(self, log_storage: FileLogStorage, disk: Disk, *, gaps: bool, previous_run: PreviousRun) -> None:
        self._log_storage = log_storage
        self._disk = disk
        self._epoch = NO_LEADER
        """Of the last batch that was looked at."""
        self._gaps = gaps
        self._previous_run = previous_run
        self._recorded: RecordedExtent | None = None
        self._joined = joined_in(log_storage.directory)
        self._found = PartitionRecovery(log_storage, joined=list(self._joined.values()))

    def run(self) -> PartitionRecovery:
        """Read everything, then tell what was found."""
        self._check_kinds()
        bases = [] if self._found.damage else self._bases()
        self._check_not_emptied(bases)
        if bases and not self._found.damage:
            self._search(bases)
        return self._found

    def _bases(self) -> list[int]:
        """The base offsets of all segments, oldest first."""
        bases = list(self._joined)
        for path in sorted(self._log_storage.directory.glob(f"*{LOG}")):
            # isdecimal() also accepts the digits of other scripts.
            if len(path.stem) == _DIGITS and path.stem.isascii() and path.stem.isdecimal():
                if not any(each.covers(int(path.stem)) for each in self._found.joined):
                    bases.append(int(path.stem))
            else:
                self._found.damage.append(f"{path}: a segment's name is an offset of {_DIGITS} digits; move it away")
        return sorted(bases)

    def _check_kinds(self) -> None:
        """Nothing with the name of a file is a directory."""
        for path in sorted(self._log_storage.directory.iterdir()):
            if path.suffix in (LOG, INDEX, SNAPSHOT) and not path.is_file():
                remedy = "restore the file from a copy" if path.suffix == LOG else "move it away, it is made again"
                self._found.damage.append(f"{path}: is no file. Nothing was changed: {remedy}")

    def _check_not_emptied(self, bases: list[int]) -> None:
        """An index or a snapshot without any segment means that segments are missing."""
        beside = sorted(path for path in self._log_storage.directory.iterdir() if path.suffix in (INDEX, SNAPSHOT))
        if beside and not bases and not self._found.damage:
            self._found.damage.append(
                f"{self._log_storage.directory}: every segment ({LOG}) is missing, of the records there is only "
                f"{beside[0].name}. Nothing was changed: restore the files from a copy"
            )

    def _search(self, bases: list[int]) -> None:
        segments = [self._fresh(base) for base in bases]
        self._recorded = recorded_extent(self._log_storage, bases[-1])
        state, trusted = self._trusted(segments)
        for at, segment in enumerate(segments):
            last = at == len(segments) - 1
            if at >= trusted or last:
                self._replayed(segment, state, last=last)
            self._epoch = max(self._epoch, segment.leader_epoch)
            self._check_order(segments, at)
            if self._found.damage:
                return
        self._check_end(segments[-1])
        self._found.kept = LoadedLog([*segments], state)
        self._found.superfluous += self._leftovers(segments)

    def _fresh(self, base_offset: int) -> FileSegment:
        segment = FileSegment(base_offset, self._log_storage.directory, self._disk)
        if base_offset in self._joined:
            segment.file = DataFile(self._joined[base_offset].path)
        return segment

    def _check_order(self, segments: list[FileSegment], at: int) -> None:
        if at + 1 < len(segments) and segments[at].end_offset != segments[at + 1].base_offset:
            ends, begins = segments[at].end_offset, segments[at + 1].base_offset
            kind = "overlaps" if ends > begins else "leaves a gap before"
            self._found.damage.append(
                f"{segments[at].file.path}: ends before offset {ends} and so {kind} the next segment, "
                f"{segments[at + 1].file.path.name}"
            )

    def _check_end(self, last: FileSegment) -> None:
        """The newest segment holds all that an index or a snapshot proves."""
        known = self._recorded
        if known is None or (known.base_offset, known.size) <= (last.base_offset, last.size):
            return
        if not self._previous_run.kept_order:  # it must not be believed later, when the log is as long again
            self._found.superfluous.append(last.file.path.with_suffix(INDEX))
            last.indexed, last.index_size, last.snapshot_at = 0, 0, None
            return
        where = f"{last.file.path}: ends at byte {last.size} (offset {last.end_offset})"
        self._found.damage.append(
            f"{where}, but {known.file} was made of records up to offset {known.end_offset}: they are lost. "
            "Nothing was changed: restore the file from a copy"
        )

    # --- what needs no look at the batches

    def _trusted(self, segments: list[FileSegment]) -> tuple[LogState, int]:
        """The state after the segments that need no replay, with their number.

        Each of them has an index that fits, and the last one also a snapshot.
        """
        entries: list[list[AbortedTxn]] = []
        # Where any write may be missing or torn, every checksum is compared.
        for segment in [] if self._previous_run.doubtful else segments:
            found = self._indexed(segment, last=segment is segments[-1])
            if found is None:
                break
            entries.append(found)
        # The newest snapshot that fits decides from where on batches are replayed.
        for count in range(len(entries), 0, -1):
            state = self._snapshot(self._log_storage.fingerprint(segments[count - 1]))
            if state is not None:
                segments[count - 1].snapshot_at = segments[count - 1].end_offset
                for entry in (entry for some in entries[:count] for entry in some):
                    state.aborted.add(*entry)
                break
        else:
            count, state = 0, self._first_state(segments[0])
        # Anew, since the loop above filled some of them from their indexes, and a replay adds their batches again.
        segments[count:] = [self._fresh(segment.base_offset) for segment in segments[count:]]
        return state, count

    def _indexed(self, segment: FileSegment, *, last: bool) -> list[AbortedTxn] | None:
        """Fill a segment from its index; give its aborted transactions, or None without a fitting index.

        The last segment may have grown since.
        """
        data, size = memoryview(self._read(segment.base_offset, INDEX)), segment.file.path.stat().st_size
        entries: list[AbortedTxn] = []
        covered: LogFingerprint | None = None
        while (found := decode_framed(INDEX_KIND, data, segment.index_size)) is not None and found[0].size <= size:
            part = decode_index(found[1], segment, found[0].end_offset)
            if part is None:
                break
            entries += part
            covered, segment.indexed, segment.index_size = found[0], len(segment), found[2]
        if covered is None or (segment.size != size and not last):
            return None
        fits = covered == self._log_storage.fingerprint(segment)
        segment.file.close()  # there may be more segments than a process may have files open
        return entries if fits else None

    def _snapshot(self, wanted: LogFingerprint) -> LogState | None:
        found = self._snapshot_at(wanted.end_offset)
        return decode_state(found[1]) if found is not None and found[0] == wanted else None

    def _first_state(self, first: FileSegment) -> LogState:
        """What was known where the log begins; nothing, unless older segments were deleted."""
        found = self._snapshot_at(first.base_offset)
        wanted = (self._log_storage.topic_id, self._log_storage.partition, first.base_offset)
        if found is None or (found[0].topic_id, found[0].partition, found[0].end_offset) != wanted:
            return LogState()
        return decode_state(found[1]) or LogState()

    def _snapshot_at(self, offset: int) -> tuple[LogFingerprint, memoryview] | None:
        return decode_checksummed(SNAPSHOT_KIND, self._read(offset, SNAPSHOT))

    def _read(self, offset: int, suffix: str) -> bytes:
        """A file beside a segment; nothing where it is missing."""
        try:
            return (self._log_storage.directory / file_name(offset, suffix)).read_bytes()
        except FileNotFoundError:
            return b""

    # --- what does

    def _replayed(self, segment: FileSegment, state: LogState, *, last: bool) -> None:
        def visit(header: HeaderFields, end: int, control: bytes | None) -> None:
            replay(state, header, control)
            segment.index_stamped_batch(header, end)

        first_epoch = max(self._epoch, segment.leader_epoch, 0)
        due = ExpectedBatch(segment.end_offset, self._gaps, first_epoch, self._log_storage.leader_epoch, segment.size)
        try:
            result = scan(segment.file.path, due, visit)
        except LogError as why:  # its checksum fits, so no torn write left it
            where = f"{segment.file.path}: damaged at byte {segment.size} (offset {segment.end_offset})"
            self._found.damage.append(
                f"{where}: a control batch cannot be read: {why}. Nothing was changed: restore the file from a copy"
            )
            return
        if result.problem:
            self._judge(segment, result, last=last)
        elif not last:
            self._found.repairs += self._log_storage.files_beside(segment, state)

    def _judge(self, segment: FileSegment, result: SegmentScan, *, last: bool) -> None:
        """Only what a crash leaves at the very end of a log may be cut off."""
        path, known = segment.file.path, self._recorded if self._previous_run.kept_order else None
        certain = 0 if known is None else known.size if known.base_offset == segment.base_offset else result.size
        torn = result.batch_behind is None and (result.unfinished or self._previous_run.doubtful)
        torn = torn or self._previous_run.shuffled
        if last and torn and result.whole >= certain:
            self._found.cuts.append((path, result.whole, result.size))
            return
        where = f"{path}: damaged at byte {result.whole} (offset {segment.end_offset}): {result.problem}"
        if last and result.whole < certain:
            more = f"it was whole when {known.file if known else ''} was made"
        elif result.batch_behind is None:
            more = "a killed process leaves the beginning of a batch alone" if last else "more segments behind it"
        elif result.batch_behind == result.whole:
            more = "it is whole"
        else:
            more = f"a whole batch at byte {result.batch_behind} behind it"
        self._found.damage.append(
            f"{where}; {more}, so no torn last write. Nothing was changed: restore the file from a copy"
        )

    def _leftovers(self, segments: list[FileSegment]) -> list[Path]:
        """Indexes and snapshots of segments that are gone, or of offsets that the log has not reached."""
        in_use = {file_name(segment.base_offset, INDEX) for segment in segments}
        in_use |= {file_name(segment.base_offset, SNAPSHOT) for segment in segments}
        in_use.add(file_name(segments[-1].end_offset, SNAPSHOT))
        if segments[-1].snapshot_at is not None:
            in_use.add(file_name(segments[-1].snapshot_at, SNAPSHOT))
        beside = (path for path in sorted(self._log_storage.directory.iterdir()) if path.suffix in (INDEX, SNAPSHOT))
        return [path for path in beside if path.name not in in_use]
