"""Read a file of a file system of fsspec in chunks, as those of this machine are read."""

from __future__ import annotations

from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Final

from eosfw.errors import DamagedDataError
from eosfw_file.files.file_systems import REMEDY, FileInfo, Location, translated
from eosfw_file.files.source_file import HEAD_BYTES, Chunk, SourceFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

BLOCK_BYTES: Final = 1 << 22
"""Bytes that are fetched at once: a request to an object store takes some 20 ms whatever it asks for."""


class RemoteFile(SourceFile):
    """There are no inodes: the fingerprint is of the first bytes alone. A file at its end is looked at now and then.

    Bytes of the block that was fetched last are given without asking again; so each request is worth its price.
    """

    def __init__(
        self, location: Location, look_interval: float, clock: Callable[[], float], *, packed: bool = False
    ) -> None:
        super().__init__(location.url, packed=packed)
        self._location, self._look_interval, self._clock = location, look_interval, clock
        self._info: FileInfo | None = None
        self._looked = clock() - look_interval
        self._block_start, self._block = 0, b""

    def again(self, *, packed: bool) -> RemoteFile:
        """The same file, to be read from its start."""
        return RemoteFile(self._location, self._look_interval, self._clock, packed=packed)

    def read(self, start: int, size: int) -> Chunk:
        """Read up to `size` bytes from `start`; raise if the file has vanished, shrunk or been replaced."""
        if not self._in_block(start, size):
            self._fetch(start, max(size, BLOCK_BYTES) if size else 0)
        at = start - self._block_start
        data = self._block[at : at + size] if size else b""
        at_end = start + len(data) >= self.size()
        self._seen_end = self.size() if at_end else None
        return Chunk(start, data, at_end)

    def release(self, position: int) -> None:
        """Let go of bytes before a position, which are not read again."""
        kept = self._block[max(0, position - self._block_start) :]
        self._block_start += len(self._block) - len(kept)
        self._block = kept

    def look(self) -> int | None:
        """The size of the file when it was looked at last, which is soon enough ago; None if there is no such file."""
        if self._clock() >= self._looked + self._look_interval:
            with translated(self.path):
                self._look()
        return self._size

    def exists(self) -> bool:
        """Whether there is a file under the name."""
        with translated(self.path):
            return self._look() is not None

    def version(self) -> str:
        """A text that changes when the file is written to or replaced, as far as its file system tells."""
        with translated(self.path):
            found = self._location.info()
        return "" if found is None else found.version

    def handle(self) -> IO[bytes]:
        """The file, opened for Arrow."""
        opened: IO[bytes] = self._location.system.open(self._location.path, "rb")
        return opened

    @contextmanager
    def translated(self) -> Iterator[None]:
        """Raise this project's errors in the place of those of reading a handle."""
        with translated(self.path):
            yield

    def line_number(self, position: int, known: tuple[int, int] = (0, 1)) -> int:
        """The number of the line at a position, counted from a known (position, line)."""
        at, line = known if known[0] <= position else (0, 1)
        with translated(self.path):
            while at < position:
                end = min(at + BLOCK_BYTES, position)
                line += self._location.system.cat_file(self._location.path, start=at, end=end).count(b"\n")
                at = end
        return line

    def _in_block(self, start: int, size: int) -> bool:
        if self._info is None:
            return False
        if not size:  # it is only asked whether the file is still the same
            return start <= self.size() and self._clock() < self._looked + self._look_interval
        end = self._block_start + len(self._block)
        return self._block_start <= start <= end and (start + size <= end or end == self.size())

    def _fetch(self, start: int, size: int) -> None:
        before = self._info
        with translated(self.path):
            size_before = self._looked_at(start).size if before is None else self.size()
            # Some file systems refuse to be asked for nothing, or for what lies behind the end.
            wanted = min(size, size_before - start)
            system, path = self._location.system, self._location.path
            block = system.cat_file(path, start=start, end=start + wanted) if wanted > 0 else b""
            # Asked after the read, so that no change before or during the read goes unnoticed.
            found = self._looked_at(start)
            if wanted <= 0 < min(size, found.size - start):
                block = system.cat_file(path, start=start, end=min(start + size, found.size))
            head = self._head
            if before is None or before.version != found.version:
                head = system.cat_file(path, start=0, end=min(HEAD_BYTES, found.size)) if found.size else b""
        self._check(found.size, 0, head, start)
        self._head, self._info, self._was_read = head, found, True
        if size:
            self._block_start, self._block = start, block

    def _looked_at(self, start: int) -> FileInfo:
        found = self._look()
        if found is None:
            raise DamagedDataError(f"{self.path} disappeared while it was read, at byte {start}; {REMEDY}")
        return found

    def _look(self) -> FileInfo | None:
        found = self._location.info()
        self._looked = self._clock()
        self._size = None if found is None else found.size
        return found
