"""Which files are read to their end, until the transaction with their last record was committed (`after.commit`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from eosfw.errors import DamagedDataError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from eosfw.records import SourceOffset
    from eosfw_file.file_records import Reader
    from eosfw_file.files.source_file import SourceFile

FINISHED = "finished"
"""The entry of a source offset that says that its file was read to its end, and which version of it."""


class Remover(Protocol):
    """Takes files out of the way."""

    def exists(self, path: str) -> bool:
        """Whether there is a file under the name."""

    def remove(self, file: SourceFile, version: str) -> None:
        """Move or delete the file, if it is still that which was read."""


class Completion:
    """Files that a task has finished: first their last offsets are committed, then they are moved or deleted.

    A finished file that is still there at the start of a task, as after a crash between the two, is moved then.
    """

    def __init__(
        self, remover_of: Callable[[str], Remover], look_interval: float, clock: Callable[[], float], *, deletes: bool
    ) -> None:
        self._remover_of, self._deletes, self._clock = remover_of, deletes, clock
        self._finished: dict[str, tuple[int, str]] = {}
        """By path the number of the poll that returned the offset of a file's end, 0 if it was committed before, and
        the version of the file."""
        self._polls = self._committed = 0
        self._gone: set[str] = set()
        """Files that are done with; others may come under their names."""
        self._look_interval, self._next_look = look_interval, clock()

    @property
    def pending(self) -> bool:
        """Whether a file is finished and not out of the way yet."""
        return bool(self._finished)

    # --- around polls and commits

    def on_poll(self) -> None:
        """A poll begins."""
        self._polls += 1

    def on_commit(self) -> None:
        """A transaction was committed: it has what polls before the last one returned, which may overlap with it."""
        self._committed = self._polls - 1

    # --- one file

    def start(self, reader: Reader, offset: SourceOffset | None) -> None:
        """Go to the committed offset, unless it is the end of another file that had this name before."""
        version = None if offset is None else offset.get(FINISHED)
        if version is None:
            reader.start(offset)
            return
        try:
            reader.start(offset)
        except DamagedDataError:
            reader.start(None)
            return
        if version == reader.file.version():
            self._finished[reader.file.path] = (0, version)
        elif self._deletes:  # the inode of a file that was deleted may be that of the next one
            reader.start(None)

    def is_missing(self, path: str, offset: SourceOffset | None) -> bool:
        """Whether a file is not there because it was moved or deleted; one that was not finished must be there."""
        if offset is None or FINISHED not in offset or self._remover_of(path).exists(path):
            return False
        self._gone.add(path)
        return True

    def end_of(self, reader: Reader) -> SourceOffset | None:
        """The offset behind a whole file, if it was just read to its end; a file without any content is none."""
        path, file = reader.file.path, reader.file
        if path in self._finished or not reader.is_finished():
            return None
        version = file.version()  # asked before the last look at its size, so that what is appended is noticed
        if not reader.is_finished():
            return None
        self._finished[path] = (self._polls, version)
        return {**reader.offset(reader.end), FINISHED: version}

    def on_records(self, reader: Reader) -> None:
        """More was read: if the file was finished, it has grown."""
        self._finished.pop(reader.file.path, None)

    # --- what is done with

    def removed(self, readers: Sequence[Reader]) -> Iterator[Reader]:
        """Move or delete the files whose ends are committed; their readers."""
        for reader in readers:
            path = reader.file.path
            if path not in self._finished:
                continue
            if reader.file.exists():
                number, version = self._finished[path]
                if number > self._committed or not reader.is_finished():
                    continue
                self._remover_of(path).remove(reader.file, version)
            del self._finished[path]
            self._gone.add(path)
            yield reader

    def returned(self) -> list[str]:
        """Paths of files that were done with under which there are files again; looked for now and then."""
        if not self._gone or self._clock() < self._next_look:
            return []
        self._next_look = self._clock() + self._look_interval
        back = sorted(path for path in self._gone if self._remover_of(path).exists(path))
        self._gone.difference_update(back)
        return back
