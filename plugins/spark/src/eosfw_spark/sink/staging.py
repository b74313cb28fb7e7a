"""Staging of a task's rows until the driver publishes them (Spark's `ManifestFileCommitProtocol`)."""

from __future__ import annotations

import hashlib
import math
import os
import re
import socket
import tempfile
import uuid
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Final

import pyarrow as pa
from pyarrow import fs, ipc

from eosfw.errors import ConfigError, DamagedDataError, Problem

INLINE: Final = 256 << 10
"""Bytes of rows up to which a task sends them to the driver with its commit message, without a file."""
FOLDER: Final = "eosfw-staging"
ABANDONED: Final = 7 * 86_400.0
"""Seconds; a driver that publishes what it staged so long ago finds it gone, and fails."""
_MARKER: Final = ".eosfw-driver"
_WRITE: Final = re.compile(r"write-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
"""As exactly as `write_folder` has it: a user's own folders may lie beside these."""
_FILE_URI: Final = re.compile(r"^file:/+")
_SCHEME: Final = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]*:/")
_USER: Final = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]*://)[^/].*@")
_OPTION: Final = "stagingLocation"


@dataclass(frozen=True, slots=True)
class StagedRows:
    """Rows that wait: an Arrow stream, carried along or in a file."""

    rows: int
    size: int
    """Bytes of the stream."""
    data: bytes | None = None
    path: str | None = None
    """Relative to the staging location."""


@dataclass(frozen=True, slots=True)
class Staging:
    """A folder that the driver reads and executors write; made on the driver, used by the tasks as well."""

    location: str
    marker: str
    """What the driver wrote into the folder: an executor that reads it there has the same storage."""

    @classmethod
    def prepare(cls, given: str | None, checkpoint: str | None) -> Staging:
        """Choose the folder and mark it, on the driver; ConfigError names the option if that is impossible."""
        location = staging_location(given, checkpoint)
        try:
            files, root = _open(location)
            files.create_dir(root)
            return cls(location, _mark(files, f"{root}/{_MARKER}"))
        except (OSError, pa.ArrowException) as why:
            shown = _shown(location)
            raise _wrong(f"the driver cannot write to {shown}: {str(why).replace(location, shown)}") from None

    def stage(self, batches: Iterable[pa.RecordBatch], folder: str, partition: int) -> StagedRows:
        """Keep a task's rows: few in memory, many in a file of this attempt alone."""
        waiting: list[pa.RecordBatch] = []
        size = 0
        rest = iter(batches)
        for batch in rest:
            waiting.append(batch)
            size += batch.nbytes
            if size > INLINE:
                # Attempts of one task never share a file: the one whose commit message Spark keeps has its own.
                path = f"{folder}/{partition}-{uuid.uuid4().hex}.arrow"
                return self._write(waiting, rest, path)
        return _inline(waiting)

    def read(self, staged: StagedRows) -> Iterator[pa.RecordBatch]:
        """The rows that a task staged; DamagedDataError if they are not all there."""
        if staged.path is None:
            return iter(ipc.open_stream(staged.data)) if staged.data else iter(())
        return self._read_file(staged, staged.path)

    def remove(self, folder: str) -> None:
        """Delete what was staged in a folder, if that can be done: behind a commit, which must not seem to fail."""
        with suppress(OSError, pa.ArrowException):
            files, root = _open(self.location)
            files.delete_dir(f"{root}/{folder}")

    def remove_abandoned_writes(self, now: float) -> None:
        """Delete folders of writes that nobody has staged in for `ABANDONED`: their drivers were killed."""
        with suppress(OSError, pa.ArrowException):
            files, root = _open(self.location)
            for each in files.get_file_info(fs.FileSelector(root)):
                if _WRITE.fullmatch(each.base_name) and _last_change(files, each.path) < now - ABANDONED:
                    files.delete_dir(each.path)

    def folders(self, parent: str) -> list[str]:
        """The names of the folders in a folder, to be removed; none if it cannot be read."""
        with suppress(OSError, pa.ArrowException):
            files, root = _open(self.location)
            found = files.get_file_info(fs.FileSelector(f"{root}/{parent}", allow_not_found=True))
            return [each.base_name for each in found if each.type is fs.FileType.Directory]
        return []

    def _write(self, first: list[pa.RecordBatch], rest: Iterator[pa.RecordBatch], path: str) -> StagedRows:
        files, root = self._shared()
        full, rows = f"{root}/{path}", 0
        files.create_dir(full.rpartition("/")[0])
        with files.open_output_stream(full) as out:
            with ipc.new_stream(out, first[0].schema) as stream:
                for batch in chain(first, rest):
                    stream.write_batch(batch)
                    rows += batch.num_rows
            size = out.tell()
        return StagedRows(rows, size, path=path)

    def _shared(self) -> tuple[fs.FileSystem, str]:
        """The folder as this executor has it, if it is the driver's."""
        try:
            files, root = _open(self.location)
            with files.open_input_stream(f"{root}/{_MARKER}") as marker:
                found = marker.read().decode(errors="replace")
        except (OSError, pa.ArrowException):
            found = ""
        if found != self.marker:
            shown = _shown(self.location)
            raise _wrong(f"executor {socket.gethostname()} does not have the driver's storage at {shown}")
        return files, root

    def _read_file(self, staged: StagedRows, path: str) -> Iterator[pa.RecordBatch]:
        files, root = _open(self.location)
        full, rows = f"{root}/{path}", 0
        found = files.get_file_info(full)
        if found.type is fs.FileType.NotFound:
            raise DamagedDataError(f"staged file {full} is gone: another driver of this query may have published it")
        if found.size != staged.size:
            raise DamagedDataError(f"staged file {full} has {found.size} bytes; its task wrote {staged.size}")
        with files.open_input_stream(full) as stream, ipc.open_stream(stream) as batches:
            for batch in batches:
                rows += batch.num_rows
                yield batch
        if rows != staged.rows:
            raise DamagedDataError(f"staged file {full} has {rows} rows; its task wrote {staged.rows}")


def write_folder(write: str) -> str:
    """The folder in which a DataFrame's write with this UUID is staged."""
    return f"write-{write}"


def staging_location(given: str | None, checkpoint: str | None) -> str:
    """The option, else a folder under the checkpoint if that is a path, else one of this user's for temporary files."""
    if given is not None:
        return _absolute(given)
    if checkpoint is not None and (_FILE_URI.match(checkpoint) or not _SCHEME.match(checkpoint)):
        return str(Path(_absolute(checkpoint)) / FOLDER)
    return str(_own_temporary_folder())


def checkpoint_name(checkpoint: str | None) -> str:
    """A checkpoint as tokens name it: a relative path would be the same for copies in two working directories."""
    path = _absolute(checkpoint or "")
    return path if checkpoint and Path(path).is_dir() else checkpoint or ""


def offset_log_entry(checkpoint: str, batch: int) -> str:
    """A hash of a batch's entry in the offset log of a checkpoint (Spark's `OffsetSeqLog`); empty if it is elsewhere.

    A batch that runs again has the entry that it had; one that is planned anew, of an older copy, has another one.
    """
    if not checkpoint:
        return ""
    try:
        return entry_hash((Path(checkpoint) / "offsets" / str(batch)).read_bytes())
    except OSError:
        return ""


def entry_hash(entry: bytes) -> str:
    """The hash of an entry of an offset log, as tokens keep it."""
    return hashlib.sha256(entry).hexdigest()[:16]


def _absolute(location: str) -> str:
    local = _FILE_URI.sub("/", location)
    return location if _SCHEME.match(local) else str(Path(local).absolute())


def _own_temporary_folder() -> Path:
    folder = Path(tempfile.gettempdir()) / f"{FOLDER}-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    # Everybody may write to the folder of temporary files: another user could have made this one, or a link.
    if found.st_uid != os.getuid() or found.st_mode & 0o077 or folder.is_symlink():
        raise _wrong(f"{folder} is not a folder of this user alone")
    return folder


def _open(location: str) -> tuple[fs.FileSystem, str]:
    if not _SCHEME.match(location):
        return fs.LocalFileSystem(), location
    files, path = fs.FileSystem.from_uri(location)
    return files, path.rstrip("/")


def _last_change(files: fs.FileSystem, folder: str) -> float:
    """When something in a folder was written last; never, if nothing there tells."""
    inside = files.get_file_info(fs.FileSelector(folder, recursive=True))
    return max((each.mtime.timestamp() for each in inside if each.mtime is not None), default=math.inf)


def _mark(files: fs.FileSystem, path: str) -> str:
    if files.get_file_info(path).type is fs.FileType.NotFound:
        _create_marker(files, path)
    with files.open_input_stream(path) as marker:
        return str(marker.read().decode(errors="replace"))


def _create_marker(files: fs.FileSystem, path: str) -> None:
    """Write the marker, unless another driver was faster, whose executors count on its own."""
    text = uuid.uuid4().hex.encode()
    if not isinstance(files, fs.LocalFileSystem):  # object stores show no half of a file
        with files.open_output_stream(path) as out:
            out.write(text)
        return
    own = Path(f"{path}-{uuid.uuid4().hex}")
    own.write_bytes(text)
    try:
        os.link(own, path)
        own.unlink()
    except FileExistsError:
        own.unlink()
    except OSError:  # a file system without links
        own.replace(path)


def _inline(batches: list[pa.RecordBatch]) -> StagedRows:
    if not batches:
        return StagedRows(0, 0)
    out = pa.BufferOutputStream()
    with ipc.new_stream(out, batches[0].schema) as stream:
        for batch in batches:
            stream.write_batch(batch)
    data = out.getvalue().to_pybytes()
    return StagedRows(sum(batch.num_rows for batch in batches), len(data), data=data)


def _shown(location: str) -> str:
    """A location for messages: the URI of an object store may begin with its keys."""
    return _USER.sub(r"\1***@", location)


def _wrong(what: str) -> ConfigError:
    return ConfigError(
        Problem("", f"{what}; set the option {_OPTION} to a folder or URI that the driver and all executors share")
    )
