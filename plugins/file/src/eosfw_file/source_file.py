"""Read one file again and again from a position, and notice when it is no longer the same file."""

from __future__ import annotations

import hashlib
import os
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING

from eosfw.errors import DamagedDataError
from eosfw_file import file_signature

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eosfw.records import SourceOffset

HEAD_BYTES = 1024
# Opening a pipe that nobody writes to would wait for ever.
_FLAGS = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)
REMEDY = "restore the file as it was, or give the connector another name to read it from the beginning"


@dataclass(frozen=True, slots=True)
class Chunk:
    """Bytes of a file from `start` on; `at_end` when the file holds no more now."""

    start: int
    data: bytes
    at_end: bool
    whole: bool = True
    """Whether compressed data ends where it may end."""


def fingerprint(inode: int, head: bytes) -> str:
    """Name a file by its inode and the first bytes it is known to have."""
    return hashlib.blake2b(head, digest_size=16, salt=inode.to_bytes(16, "little")).hexdigest()


class SourceFile:
    """One file of a task. It is opened anew for each chunk, so a task of many files holds none of them open.

    The fingerprint behind position p covers the first min(p, 1 KiB) bytes: bytes behind a position never change when a
    file only grows, so a file keeps its fingerprints while it grows, and a replay finds the same ones.
    """

    sequential = False
    """Whether going back is dear."""

    def __init__(self, path: str, *, packed: bool = False) -> None:
        self.path = path
        self._packed_content = packed
        self._inode = 0
        self._head = b""
        self._fingerprinted = (0, b"", fingerprint(0, b""))
        self._seen_end: int | None = None

    @property
    def inode(self) -> int:
        """The inode at the last look."""
        return self._inode

    @property
    def head(self) -> bytes:
        """The first bytes at the last look."""
        return self._head

    def resume(self, offset: SourceOffset | None) -> int:
        """Return the position to go on from; raise if the committed offset does not fit the file."""
        if offset is None:
            self.read(0, 0)
            return 0
        position, identity = offset.get("position"), offset.get("id")
        if not isinstance(position, int) or position < 0 or not isinstance(identity, str | None):
            raise DamagedDataError(
                f"{self.path}: its committed offset {dict(offset)!r} is none of this connector's; {REMEDY}"
            )
        self._head = b""
        self.read(position, 0)
        # Kafka's own FileStreamSource writes no id: take over from it on trust.
        if identity is not None and identity != self.identity(position):
            raise DamagedDataError(
                f"{self.path} is not the file that was read before: its inode or first bytes differ; {REMEDY}"
            )
        return position

    def read(self, start: int, size: int) -> Chunk:
        """Read up to `size` bytes from `start`; raise if the file vanished, shrank or is another one by now."""
        try:
            descriptor = os.open(self.path, _FLAGS)
        except FileNotFoundError:
            raise DamagedDataError(f"{self.path} disappeared while it was read, at byte {start}; {REMEDY}") from None
        except OSError as why:
            raise DamagedDataError(
                f"{self.path} cannot be opened at byte {start}: {why.strerror}; make it readable"
            ) from why
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise DamagedDataError(f"{self.path} is not a regular file (any more); {REMEDY}")
            data = os.pread(descriptor, size, start)
            # Looked at after reading, so that nothing that happened before or during it goes unnoticed.
            found = os.fstat(descriptor)
            head = os.pread(descriptor, HEAD_BYTES, 0)
        except OSError as why:
            raise DamagedDataError(
                f"{self.path} cannot be read at byte {start}: {why.strerror}; check its disk"
            ) from why
        finally:
            os.close(descriptor)
        self._check(found, head, start)
        self._inode, self._head = found.st_ino, head
        end = start + len(data)
        at_end = end >= found.st_size
        self._seen_end = found.st_size if at_end else None
        return Chunk(start, data, at_end)

    def identity(self, position: int) -> str:
        """The fingerprint behind a position that was read."""
        head = self._head[:position]  # behind the first 1 KiB the same object each time
        if self._fingerprinted[:2] != (self._inode, head):
            self._fingerprinted = (self._inode, head, fingerprint(self._inode, head))
        return self._fingerprinted[2]

    def offset(self, position: int) -> SourceOffset:
        """The source offset behind a position that was read."""
        return {"position": position, "id": self.identity(position)}

    def size(self) -> int:
        """How many bytes the file has now; none if it disappeared, which the next read says."""
        try:
            return os.stat(self.path).st_size
        except OSError:
            return 0

    def offsets(self, positions: Sequence[int]) -> list[SourceOffset]:
        """The source offsets behind ascending positions that were read."""
        if not positions or positions[0] < HEAD_BYTES:
            return [self.offset(position) for position in positions]
        identity = self.identity(positions[-1])  # behind the head all have the same
        return [{"position": position, "id": identity} for position in positions]

    def has_grown(self) -> bool:
        """Tell whether there is something behind the end that was seen last."""
        try:
            return os.stat(self.path).st_size != self._seen_end
        except OSError:
            return True  # the next read says what happened

    def line_number(self, position: int, known: tuple[int, int] = (0, 1)) -> int:
        """Count on from a known (position, line) to the line that begins at a position."""
        at, line = known if known[0] <= position else (0, 1)
        with open(self.path, "rb") as file:
            file.seek(at)
            while at < position and (data := file.read(min(1 << 20, position - at))):
                line += data.count(b"\n")
                at += len(data)
        return line

    def _shrunk(self, size: int, start: int) -> DamagedDataError:
        return DamagedDataError(
            f"{self.path} was truncated: it has {size} bytes, and {start} were read already; {REMEDY}"
        )

    def _check(self, found: os.stat_result, head: bytes, start: int) -> None:
        if found.st_size < start:
            raise self._shrunk(found.st_size, start)
        if not self._packed_content and len(self._head) < file_signature.SIGNATURE_BYTES:
            self._check_content(head)
        known = min(start, len(self._head))
        if self._inode and (found.st_ino != self._inode or head[:known] != self._head[:known]):
            raise DamagedDataError(
                f"{self.path} was replaced or rewritten while it was read, at byte {start}; {REMEDY}"
            )

    def _check_content(self, head: bytes) -> None:
        if foreign := file_signature.reason_unreadable(head):
            raise DamagedDataError(f"{self.path} {foreign}, and give the connector another name")
        if kind := file_signature.compression(head):
            raise DamagedDataError(f"{self.path} turned out to be compressed with {kind}; start the connector again")
