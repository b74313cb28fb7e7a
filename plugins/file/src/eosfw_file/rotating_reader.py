"""Read a log file on through its rotations: renamed and created anew, or copied and truncated."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from eosfw.errors import DamagedDataError
from eosfw_file.files.rotated_files import RotatedFile, file_now, rotated_files
from eosfw_file.files.source_file import HEAD_BYTES, REMEDY, FileChangedError, SourceFile, fingerprint

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from eosfw.records import SourceOffset
    from eosfw_file.file_records import FileRecords
    from eosfw_file.reader import FileReader

INODE = "inode"
"""The entry of a source offset with the inode of the file that was read, by which a copy of it can be told."""
ENDED = "ended"
"""The entry of a source offset that says that its file was left, with the time of the last change of that file.

Then the next file is the oldest one that was changed later, whatever it is called, and even if nothing of it was read.
"""


class RotatingReader:
    """Reads the files that one name had, one after the other.

    A source offset is that of the file that is read, whatever its name is by now: by its inode and first bytes it is
    found again, or a copy of it by these bytes. It is read to its end, and left for the next younger one once nothing
    was written to it for a while.
    """

    def __init__(
        self, path: str, open_reader: Callable[[str], FileReader], wait: float, clock: Callable[[], float]
    ) -> None:
        self.file = SourceFile(path)
        """The name; what is read may have another one."""
        self._path, self._open_reader, self._wait, self._clock = path, open_reader, wait, clock
        self._reader: FileReader | None = None
        self._offset: SourceOffset | None = None
        """Where to go on."""
        self._changed: int | None = None
        """The time of the last change of the file that was read to its end."""
        self._statement: SourceOffset | None = None
        """An offset without a record that is yet to be committed."""
        self._quiet: tuple[int | None, float] | None = None
        """The size of the file when its end was reached, and since when it has it."""
        self._lost: float | None = None
        """Since when no file is the one that was read; it may be about to be renamed."""

    # --- as of other readers

    def start(self, offset: SourceOffset | None) -> None:
        """Go to the committed offset; without one to the start of the file that has the name."""
        if offset is None:
            offset = self._statement = {"position": 0, "id": None, ENDED: self._before_start()}
        # No file is opened before it is read: one that was truncated meanwhile would look as if it had been empty.
        self._offset = offset

    def statement(self) -> SourceOffset | None:
        """An offset without a record, once: when it is committed, a rotation before the next record loses nothing."""
        statement, self._statement = self._statement, None
        return statement

    def take(self, limit: int) -> FileRecords | None:
        """The next records; None if there are none at the moment."""
        while (reader := self._opened()) is not None:
            try:
                taken = reader.take(limit)
            except FileChangedError:
                self._find(self._position())
                continue
            if taken is not None:
                self._offset, self._quiet, self._statement = self.offset(taken.ends[-1]), None, None
                return taken
            if not self._move_on(reader):
                return None
        return None

    def drop_read_ahead(self) -> None:
        """Drop the records that were read ahead."""
        if self._reader is not None:
            self._reader.drop_read_ahead()

    def at_end(self) -> bool:
        """Whether every record that the files hold now was taken."""
        reader = self._reader
        if reader is None:
            return self._lost is None and self._first_after(self._position()) is None
        if self._was_changed(reader):
            return False
        return reader.at_end() and not any(one.size for one in self._later_files(reader) or [])

    def is_finished(self) -> bool:
        """Never: others will come."""
        return False

    @property
    def end(self) -> int:
        """The position behind all that was taken of the current file."""
        return 0 if self._reader is None else self._reader.end

    def offset(self, position: int) -> SourceOffset:
        """The source offset of a position that was read."""
        return self.offsets([position])[0]

    def offsets(self, positions: Sequence[int]) -> list[SourceOffset]:
        """The source offsets of ascending positions that were read."""
        assert self._reader is not None
        inode = self._reader.file.inode
        return [{**offset, INODE: inode} for offset in self._reader.offsets(positions)]

    def progress(self) -> tuple[int, int] | None:
        """The bytes that were taken of the current file and its bytes; None if that is unknown."""
        return None if self._reader is None else self._reader.progress()

    def waiting_notice(self) -> tuple[int, str] | None:
        """The position of an incomplete last record and what to say of it, if there is one."""
        return None if self._reader is None else self._reader.waiting_notice()

    def close(self) -> None:
        """Nothing is open between two polls."""

    # --- from one file to the next

    def _before_start(self) -> int:
        """The time of the last change of what was rotated before the first start, which is not read."""
        current, rotated = file_now(self._path), rotated_files(self._path)
        times = [one.changed for one in rotated] + ([] if current is None else [current.changed - 1])
        return max(times, default=0)

    def _opened(self) -> FileReader | None:
        """The file to read, if there is one."""
        if self._reader is None:
            self._find(self._position())
        return self._reader

    def _begin(self, file: RotatedFile, is_next: Callable[[], bool]) -> None:
        """Read a file from its start on, unless its name is that of another one by now."""
        try:
            reader = self._open_reader(file.path)
            reader.start(None)
        except DamagedDataError:
            if _inode(file.path) == file.inode:
                raise
            return
        # Asked again, since another rotation may have given the name to a file that is younger still.
        if reader.file.inode == file.inode and is_next():
            self._reader, self._quiet = reader, None

    def _move_on(self, reader: FileReader) -> bool:
        """At the end of a file: whether there is more to read, in it or in the next one."""
        if _inode(reader.file.path) != reader.file.inode:  # it has another name by now
            self._find(self._position())
            return self._reader is not None
        if self._was_changed(reader):
            file = file_now(reader.file.path)
            self._changed = None if file is None else file.changed
            reader.read_again()
            return True
        later = self._later_files(reader)
        if not later:
            return False
        # With another rotation behind it the writer has opened the next file long ago.
        return (len(later) > 1 or self._is_quiet(reader)) and self._leave(reader, later)

    def _leave(self, reader: FileReader, later: list[RotatedFile]) -> bool:
        """Nobody writes to the file any more: take its last line, begin the next one, or state that it was read."""
        if not reader.emits_incomplete:
            reader.finish()
            return True
        following = next((one for one in later if one.size), None)
        if following is not None:
            self._begin(following, lambda: self._later_files(reader) == later)
            return True
        if ENDED not in self._position() and (file := file_now(reader.file.path)) is not None:
            self._offset = self._statement = {**self.offset(reader.end), ENDED: file.changed}
        return False

    def _later_files(self, reader: FileReader) -> list[RotatedFile] | None:
        """The files that were begun after this one; None if it has none of their names any more."""
        current, own = file_now(self._path), reader.file.inode
        if current is not None and current.inode == own:
            return []
        files = rotated_files(self._path) + ([] if current is None else [current])
        at = next((number for number, one in enumerate(files) if one.inode == own), None)
        return None if at is None else files[at + 1 :]

    def _first_after(self, offset: SourceOffset) -> RotatedFile | None:
        """The file that follows the one that an offset says was left; one without content may yet be truncated."""
        ended = offset.get(ENDED)
        if not isinstance(ended, int):
            return None
        current, rotated = file_now(self._path), rotated_files(self._path)
        later = [one for one in rotated if one.changed > ended] + ([] if current is None else [current])
        return next((one for one in later if one.size and not self._was_left(one, offset)), None)

    def _was_left(self, file: RotatedFile, offset: SourceOffset) -> bool:
        """Whether a file is a copy of the one that was left; its inode says nothing, since it is given anew."""
        position = offset.get("position")
        return isinstance(position, int) and position >= HEAD_BYTES and self._copy_at(file.path, offset) is not None

    def _was_changed(self, reader: FileReader) -> bool:
        """Whether the file was changed since its end was read: begun anew, it may have the size that it had."""
        file = file_now(reader.file.path)
        return file is not None and file.changed != self._changed

    def _is_quiet(self, reader: FileReader) -> bool:
        size = reader.file.look()
        if self._quiet is None or self._quiet[0] != size:
            self._quiet = (size, self._clock())
        return self._clock() >= self._quiet[1] + self._wait

    # --- the file of an offset

    def _position(self) -> SourceOffset:
        assert self._offset is not None, "it is known from the start"
        return self._offset

    def _find(self, offset: SourceOffset) -> None:
        self._quiet, self._reader = None, self._found(offset)
        if self._reader is None and ENDED in offset:
            following = self._first_after(offset)
            if following is not None:
                self._begin(following, lambda: self._first_after(offset) == following)
            return
        if self._reader is not None:
            self._lost = None
        elif self._lost is None:  # it may be about to be renamed
            self._lost = self._clock()
        elif self._clock() >= self._lost + self._wait:
            raise DamagedDataError(
                f"{self._path} was rotated or replaced, and neither it nor a file beside it is the one that was read "
                f"before; {REMEDY}"
            )

    def _found(self, offset: SourceOffset) -> FileReader | None:
        """The file of the offset, by its inode; else the only copy of it."""
        if offset.get("position") == 0 and ENDED in offset:  # of no file yet
            return None
        rotated = [one.path for one in rotated_files(self._path)]
        for path in (self._path, *rotated):
            if (reader := self._same_at(path, offset)) is not None:
                return reader
        if ENDED in offset:
            return None
        copies = [one for path in rotated if (one := self._copy_at(path, offset)) is not None]
        return copies[0] if len(copies) == 1 else None

    def _same_at(self, path: str, offset: SourceOffset) -> FileReader | None:
        try:
            reader = self._open_reader(path)
            reader.start(offset)
        except DamagedDataError:
            return None
        return reader

    def _copy_at(self, path: str, offset: SourceOffset) -> FileReader | None:
        """The file if it begins as that of the offset did: whoever truncates or packs a file has copied it before."""
        position, inode = offset.get("position"), offset.get(INODE, _inode(self._path))
        if not isinstance(position, int) or not isinstance(inode, int) or not position:
            return None
        try:
            reader = self._open_reader(path)
            head = reader.file.read(0, HEAD_BYTES).data[:position]
            if fingerprint(inode, head) != offset.get("id"):
                return None
            if not reader.file.sequential:  # lines behind the end of the copy were read before the file was truncated
                position = min(position, reader.file.size())
            reader.start({"position": position, "id": None})
        except DamagedDataError:
            return None
        return reader


def _inode(path: str) -> int | None:
    try:
        return os.stat(path).st_ino
    except OSError:
        return None
