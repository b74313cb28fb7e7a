"""Change the files of a data directory, up to the first failure."""

from __future__ import annotations

import errno
import fcntl
import logging
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from eosfw_memory.common.log_errors import KafkaStorageError
from eosfw_memory.storage.files.lock_file import file_system

_LOG = logging.getLogger(__name__)
TEMPORARY = ".tmp"
RUNNING = ".running"
"""Holds the boot id of the machine, and whether the broker waits for the disk; a clean stop removes it."""
FAILED = ".failed"
"""What it is called once what was written before a failure cannot be trusted."""
_FULL = (errno.ENOSPC, errno.EDQUOT)
_ATTEMPTS = 3
_BOOT = Path("/proc/sys/kernel/random/boot_id")


class OperatingSystem:
    """What a data directory asks of the operating system, whose calls may fail; tests put others in their place."""

    def boot_id(self) -> bytes:
        """What tells this start of the machine from all others; empty where nothing does."""
        try:
            return _BOOT.read_bytes()
        except OSError:
            return b""

    def file_system(self, path: Path) -> str:
        """The kind of file system that holds a path; empty where the system does not say."""
        return file_system(path)

    def write(self, descriptor: int, pieces: Sequence[bytes | memoryview], at: int) -> int:
        """Write at a position; give how many bytes were taken."""
        return os.pwritev(descriptor, pieces, at)

    def sync(self, descriptor: int) -> None:
        """Wait until what was written is on the disk."""
        if sys.platform == "darwin":  # whose fsync leaves data in the drive's cache
            fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
        else:  # also writes the size of the file, and nothing else of its metadata matters here
            os.fdatasync(descriptor)

    def truncate(self, descriptor: int, size: int) -> None:
        """Cut a file off at a size."""
        os.ftruncate(descriptor, size)

    def rename(self, old: Path, new: Path) -> None:
        """Give a file another name, in place of whatever had that."""
        old.replace(new)

    def remove(self, path: Path) -> None:
        """Remove a file."""
        path.unlink()

    def make_directory(self, path: Path) -> None:
        """Make a directory."""
        path.mkdir()

    def remove_directory(self, path: Path) -> None:
        """Remove a directory with all that is in it."""
        shutil.rmtree(path)

    def sync_directory(self, path: Path) -> None:
        """Wait until the names in a directory are on the disk."""
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


class DataFile:
    """A file that is opened when it is first needed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor: int | None = None

    @property
    def is_open(self) -> bool:
        return self._descriptor is not None

    def descriptor(self) -> int:
        """The open file, made where it is missing."""
        if self._descriptor is None:
            try:
                self._descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            except OSError as why:  # mostly too many open files: nothing is lost, it may work again soon
                raise KafkaStorageError(f"{self.path}: cannot be opened: {why.strerror}") from why
        return self._descriptor

    def read(self, size: int, at: int) -> bytes:
        """Read `size` bytes from a position on; fewer at the end of the file."""
        try:
            return os.pread(self.descriptor(), size, at)
        except OSError as why:
            raise KafkaStorageError(f"{self.path}: cannot be read at byte {at}: {why.strerror}") from why

    def close(self) -> None:
        """Give the descriptor back."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


class Unsynced(NamedTuple):
    """A file whose writes may not be on the disk, by a descriptor of its own."""

    path: Path
    descriptor: int


def _copied(file: DataFile) -> Unsynced:
    """A file by another descriptor; raises KafkaStorageError where this process may have no more of them."""
    try:
        return Unsynced(file.path, os.dup(file.descriptor()))
    except OSError as why:
        raise KafkaStorageError(f"{file.path}: cannot be opened again: {why.strerror}") from why


class Disk:
    """Makes every change of a data directory; after one that failed it makes no other.

    After a write or an fsync that failed nobody can say what is on the disk, and a second fsync may report a success
    that is none. So any failure closes the whole directory for writing, as Kafka takes a log directory offline.
    """

    def __init__(self, root: Path, system: OperatingSystem | None = None, *, waits: bool = False) -> None:
        self.root = root
        self.waits = waits
        """Whether nothing is acknowledged before it is on the disk (`--flush=fsync`)."""
        self.failed: str | None = None
        self.full = False
        """Whether it failed for want of room, so that what was written before can be trusted."""
        self.written = 0
        """How many writes there were."""
        self._system = OperatingSystem() if system is None else system
        self._unsynced: dict[DataFile, None] = {}
        self._reported: set[tuple[str, Path]] = set()

    def boot_id(self) -> bytes:
        """What tells this start of the machine from all others."""
        return self._system.boot_id()

    def write(self, file: DataFile, pieces: Sequence[bytes | memoryview], at: int) -> None:
        """Hand bytes to the operating system; raises KafkaStorageError unless it took all of them."""
        if self.failed is not None:
            raise KafkaStorageError(self.failed)
        wanted = sum(map(len, pieces))
        try:
            taken = self._system.write(file.descriptor(), pieces, at)
            if taken != wanted:  # writing the rest shows why
                rest = b"".join(pieces)[taken:]
                taken += self._system.write(file.descriptor(), [rest], at + taken)
        except OSError as why:
            raise self.fail(file.path, why) from why
        if taken != wanted:
            raise self.fail(file.path, OSError(f"only {taken} of {wanted} bytes were taken"))
        self.written += 1
        if self.waits:
            self._unsynced[file] = None

    def take_unsynced(self) -> list[Unsynced]:
        """The files with writes that may not be on the disk; the caller has to `sync` them.

        The descriptors are copies, which `sync` closes, so that no other thread can close them during the fsync.
        After a failure there are none: no fsync could confirm anything. Raises KafkaStorageError, with nothing taken,
        while this process has too many files open.
        """
        if self.failed is not None:
            self._unsynced.clear()
        files: list[Unsynced] = []
        try:
            for file in self._unsynced:
                files.append(_copied(file))  # noqa: PERF401 - of a list that fails nothing is left to be closed
        except KafkaStorageError:
            for taken in files:
                os.close(taken.descriptor)
            raise
        self._unsynced.clear()
        return files

    def sync_file(self, file: DataFile) -> None:
        """Wait until one file is on the disk."""
        copied = _copied(file)
        self._unsynced.pop(file, None)
        self.sync([copied])

    def sync(self, files: Sequence[Unsynced]) -> None:
        """Wait until the files are on the disk; a failure is final, since a second fsync would report success."""
        try:
            for file in files:
                try:
                    self._system.sync(file.descriptor)
                except OSError as why:  # for want of room, too: it was to make sure of what had been taken
                    raise self.fail(file.path, why, trusted=False) from why
        finally:
            for file in files:
                os.close(file.descriptor)

    def replace(self, path: Path, content: bytes, *, durable: bool) -> None:
        """Give a file new content, whole or not at all; `durable` waits for the disk."""
        if self.failed is not None:
            raise KafkaStorageError(self.failed)
        temporary = DataFile(path.with_name(path.name + TEMPORARY))
        with self._final_failure(path), closing(temporary):
            # A crash may have left an older and longer one.
            self._system.truncate(temporary.descriptor(), 0)
            if content and self._system.write(temporary.descriptor(), [content], 0) != len(content):
                raise OSError("not all bytes were taken")
            if durable:
                self._system.sync(temporary.descriptor())
            # After the content: a crash between the two must not leave a name that leads to an empty file.
            self._system.rename(temporary.path, path)
            if durable:
                self.sync_directory(path.parent)

    def add(self, path: Path, content: bytes, at: int) -> None:
        """Write at the end of the valid part of a file, over what follows; does not wait for the disk."""
        if self.failed is not None:
            raise KafkaStorageError(self.failed)
        with self._final_failure(path), closing(DataFile(path)) as file:
            if self._system.write(file.descriptor(), [content], at) != len(content):
                raise OSError("not all bytes were taken")

    def rename(self, file: DataFile, path: Path) -> None:
        """Give a file another name, in place of whatever had that."""
        self._unsynced.pop(file, None)
        with self._final_failure(path):
            self._system.rename(file.path, path)
        file.path = path

    def truncate(self, path: Path, size: int) -> None:
        """Cut a file off at a size, and wait for the disk."""
        with self._final_failure(path), closing(DataFile(path)) as file:
            self._system.truncate(file.descriptor(), size)
            self._system.sync(file.descriptor())

    def remove(self, path: Path) -> None:
        """Remove a file, if it is there."""
        with self._final_failure(path), suppress(FileNotFoundError):
            self._system.remove(path)

    def remove_data_file(self, file: DataFile) -> None:
        """Remove a file that was written here: nothing of it has to reach the disk any more."""
        self._unsynced.pop(file, None)
        file.close()
        self.remove(file.path)

    def make_directory(self, path: Path) -> None:
        """Make a directory."""
        self._system.make_directory(path)

    def remove_directory(self, path: Path) -> None:
        """Remove a directory with all that is in it; what cannot be removed is left."""
        with suppress(OSError):
            self._system.remove_directory(path)

    def sync_directory(self, path: Path) -> None:
        """Wait until the names in a directory are on the disk."""
        with self._final_failure(path):
            self._system.sync_directory(path)

    @contextmanager
    def _final_failure(self, path: Path) -> Iterator[None]:
        """Close the directory for writing if a call about a path fails."""
        try:
            yield
        except OSError as why:
            raise self.fail(path, why) from why

    def _mark_failed(self) -> None:
        """Tell the next start by the name of a file, for which a full disk has room, too.

        It need not reach the disk: a start after a crash of the machine trusts nothing that no fsync has confirmed.
        """
        # Without the mark the next start takes what was lost for damage, and refuses; one call may fail beside another.
        for _ in range(_ATTEMPTS):
            with suppress(OSError):
                self._system.rename(self.root / RUNNING, self.root / FAILED)
                return

    def report(self, kind: str, directory: Path, what: str) -> None:
        """Log what clients get as an error code alone, once for each directory."""
        if (kind, directory) not in self._reported:
            self._reported.add((kind, directory))
            _LOG.error("%s", what)

    def fail(self, path: Path, why: OSError, *, trusted: bool = True) -> KafkaStorageError:
        """Close the directory for writing; give the error to raise."""
        reason, was_trusted = why.strerror or str(why), self.failed is None or self.full
        self.full = was_trusted and trusted and why.errno in _FULL
        if was_trusted and not self.full:  # an fsync may be under way when a write finds the disk full, and fail then
            self._mark_failed()
        self.failed = (
            f"data directory {self.root} failed ({path.relative_to(self.root)}: {reason}): it is read-only until the "
            "cause is gone and the broker is started again"
        )
        self.report("failure", path.parent, self.failed)
        return KafkaStorageError(self.failed)
