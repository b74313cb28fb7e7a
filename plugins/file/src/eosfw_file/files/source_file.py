"""Read one file in chunks, and detect when it was truncated or replaced."""

from __future__ import annotations

import hashlib
import os
import stat
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from eosfw.errors import DamagedDataError, RetriableError
from eosfw.open_files import none_left
from eosfw_file.files import signature

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import IO

    import pyarrow as pa

    from eosfw.records import SourceOffset

HEAD_BYTES = 1024
# Without O_NONBLOCK the opening of a pipe without writer would wait for ever.
_FLAGS = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)
REMEDY = "restore the file as it was, or give the connector another name to read it from the beginning"


class FileChangedError(DamagedDataError):
    """A file has vanished, shrunk, or been replaced or rewritten."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Bytes of a file from `start` on; `at_end` if the file holds no more at the moment."""

    start: int
    data: bytes
    at_end: bool
    whole: bool = True
    """False if compressed data ends before its end mark."""


def fingerprint(inode: int, head: bytes) -> str:
    """A text that identifies a file by its inode and its first bytes."""
    return hashlib.blake2b(head, digest_size=16, salt=inode.to_bytes(16, "little")).hexdigest()


class SourceFile:
    """One file of a task. Each read opens it anew, so that a task of many files keeps none of them open.

    The fingerprint at position p covers the first min(p, 1 KiB) bytes: bytes behind a position never change when a
    file only grows, so a file keeps its fingerprints while it grows, and a replay finds the same ones.
    """

    sequential = False
    """Whether going back reads the file from its start again."""

    def __init__(self, path: str, *, packed: bool = False) -> None:
        self.path = path
        self._packed_content = packed
        self._inode = 0
        self._head = b""
        self._was_read = False
        self._reached = 0
        """The greatest position that was asked for; what is before it never changes."""
        self._fingerprinted = (0, b"", fingerprint(0, b""))
        self._seen_end: int | None = None
        self._size: int | None = None
        """The bytes of the file when it was looked at last."""

    @property
    def inode(self) -> int:
        """The inode at the last read."""
        return self._inode

    @property
    def head(self) -> bytes:
        """The first bytes at the last read."""
        return self._head

    def resume(self, offset: SourceOffset | None) -> int:
        """The position of a committed offset; raise if the offset does not belong to this file."""
        if offset is None:
            self.read(0, 0)
            return 0
        position, identity = offset.get("position"), offset.get("id")
        if not isinstance(position, int) or position < 0 or not isinstance(identity, str | None):
            raise DamagedDataError(
                f"{self.path}: its committed offset {dict(offset)!r} is none of this connector's; {REMEDY}"
            )
        self._head, self._reached = b"", 0
        self.read(position, 0)
        # Kafka's FileStreamSource writes no id: its offsets are trusted.
        if identity is not None and identity != self.identity(position):
            raise DamagedDataError(
                f"{self.path} is not the file that was read before: its inode or first bytes differ; {REMEDY}"
            )
        return position

    def read(self, start: int, size: int) -> Chunk:
        """Read up to `size` bytes from `start`; raise if the file has vanished, shrunk or been replaced."""
        try:
            descriptor = os.open(self.path, _FLAGS)
        except FileNotFoundError:
            raise FileChangedError(f"{self.path} disappeared while it was read, at byte {start}; {REMEDY}") from None
        except OSError as why:
            if none_left(why):
                raise RetriableError(f"{self.path} cannot be opened now: {why.strerror}; raise `ulimit -n`") from why
            raise DamagedDataError(
                f"{self.path} cannot be opened at byte {start}: {why.strerror}; make it readable"
            ) from why
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise DamagedDataError(f"{self.path} is not a regular file (any more); {REMEDY}")
            data = os.pread(descriptor, size, start)
            # Checked after the read, so that no change before or during the read goes unnoticed.
            found = os.fstat(descriptor)
            head = os.pread(descriptor, HEAD_BYTES, 0)
        except OSError as why:
            raise DamagedDataError(
                f"{self.path} cannot be read at byte {start}: {why.strerror}; check its disk"
            ) from why
        finally:
            os.close(descriptor)
        self._check(found.st_size, found.st_ino, head, start)
        self._inode, self._head, self._size = found.st_ino, head, found.st_size
        self._was_read = True
        end = start + len(data)
        at_end = end >= found.st_size
        self._seen_end = found.st_size if at_end else None
        return Chunk(start, data, at_end)

    def identity(self, position: int) -> str:
        """The fingerprint at a position that was read."""
        head = self._head[:position]  # the same object for every position after the first 1 KiB
        if self._fingerprinted[:2] != (self._inode, head):
            self._fingerprinted = (self._inode, head, fingerprint(self._inode, head))
        return self._fingerprinted[2]

    def offset(self, position: int) -> SourceOffset:
        """The source offset of a position that was read."""
        return {"position": position, "id": self.identity(position)}

    def size(self) -> int:
        """The bytes of the file when it was looked at last, as each poll does.

        To look once more would cost a task of many files as much as the poll.
        """
        return self._size or 0

    def offsets(self, positions: Sequence[int]) -> list[SourceOffset]:
        """The source offsets of ascending positions that were read."""
        if not positions or positions[0] < HEAD_BYTES:
            return [self.offset(position) for position in positions]
        identity = self.identity(positions[-1])  # the same for all positions after the head
        return [{"position": position, "id": identity} for position in positions]

    def again(self, *, packed: bool) -> SourceFile:
        """The same file, to be read from its start."""
        return SourceFile(self.path, packed=packed)

    def release(self, position: int) -> None:
        """Let go of bytes before a position, which are not read again; a file of this machine keeps none."""

    def has_grown(self) -> bool:
        """Whether the size of the file has changed since its end was read."""
        size = self.look()
        return size is None or size != self._seen_end  # without a size the next read reports the error

    def look(self) -> int | None:
        """The size of the file now; None if there is no such file."""
        try:
            self._size = os.stat(self.path).st_size
        except OSError:
            return None
        return self._size

    def exists(self) -> bool:
        """Whether there is a file under the name."""
        return os.path.lexists(self.path)

    def version(self) -> str:
        """A text that changes when the file is written to or replaced, as far as size and time tell."""
        try:
            found = os.stat(self.path)
        except OSError:
            return ""
        return f"{found.st_size}:{found.st_mtime_ns}"

    def handle(self) -> IO[bytes] | pa.NativeFile:
        """The file, opened for Arrow.

        Arrow reads in threads of its own. One that lets go of an object of Python while the interpreter ends aborts the
        process, after all work was done; so Arrow gets a file of its own.
        """
        import pyarrow as pa  # here, since it is installed where files of columns are read

        return pa.OSFile(self.path)

    @contextmanager
    def translated(self) -> Iterator[None]:
        """Raise this project's errors in the place of those of reading a handle."""
        try:
            yield
        except OSError as why:
            raise DamagedDataError(f"{self.path} cannot be read: {why.strerror or type(why).__name__}") from None

    def line_number(self, position: int, known: tuple[int, int] = (0, 1)) -> int:
        """The number of the line at a position, counted from a known (position, line)."""
        at, line = known if known[0] <= position else (0, 1)
        with open(self.path, "rb") as file:
            file.seek(at)
            while at < position and (data := file.read(min(1 << 20, position - at))):
                line += data.count(b"\n")
                at += len(data)
        return line

    def _shrunk(self, size: int, start: int) -> FileChangedError:
        return FileChangedError(
            f"{self.path} was truncated: it has {size} bytes, and {start} were read already; {REMEDY}"
        )

    def _check(self, size: int, inode: int, head: bytes, start: int) -> None:
        if size < start:
            raise self._shrunk(size, start)
        if not self._packed_content and len(self._head) < signature.SIGNATURE_BYTES:
            self._check_content(head)
        self._reached = max(self._reached, start)
        known = min(self._reached, len(self._head))
        if self._was_read and (inode != self._inode or head[:known] != self._head[:known]):
            raise FileChangedError(
                f"{self.path} was replaced or rewritten while it was read, at byte {start}; {REMEDY}"
            )

    def _check_content(self, head: bytes) -> None:
        if foreign := signature.reason_unreadable(head):
            raise DamagedDataError(f"{self.path} {foreign}, and give the connector another name")
        if kind := signature.compression(head):
            raise DamagedDataError(f"{self.path} turned out to be compressed with {kind}; start the connector again")
