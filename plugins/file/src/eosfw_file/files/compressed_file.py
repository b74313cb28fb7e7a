"""Read a compressed file as if it were plain, from the front to the back."""

from __future__ import annotations

import importlib
import zlib
from typing import TYPE_CHECKING, Any, Final, Protocol

from eosfw.errors import ConfigError, DamagedDataError, Problem
from eosfw_file.files import signature
from eosfw_file.files.source_file import HEAD_BYTES, REMEDY, Chunk, SourceFile

if TYPE_CHECKING:
    from eosfw.records import SourceOffset

_READ_BYTES: Final = 1 << 16
"""Compressed bytes that are read at once."""
_UNPACK_BYTES: Final = 1 << 10
"""Compressed bytes that are unpacked at once: they become 32 MiB at most, even in a hostile file."""
_LOOK_BACK_BYTES: Final = 4
"""Bytes before the last position that a reader may read again."""


class _Part(Protocol):
    """One gzip member or zstd frame that is being unpacked."""

    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, /) -> bytes: ...


def open_source_file(file: SourceFile) -> SourceFile:
    """A file that may be packed as what it holds, by its first bytes; ConfigError if a library for that is missing."""
    file.read(0, 0)
    kind = signature.compression(file.head)
    return file.again(packed=False) if kind is None else CompressedFile(file, kind)


def missing_library(kind: str) -> str | None:
    """What to install to read files of this compression; None if nothing is missing."""
    try:
        _decompressor(kind)
    except ImportError:
        return f"is compressed with {kind}, which needs a library: pip install 'eosfw-file[{kind}]'"
    return None


class CompressedFile(SourceFile):
    """Positions count unpacked bytes. Reading on costs nothing; going back unpacks the file from its start again."""

    sequential = True

    def __init__(self, packed: SourceFile, kind: str) -> None:
        super().__init__(packed.path)
        if lacking := missing_library(kind):
            raise ConfigError(Problem("file", f"{self.path} {lacking}"))
        self._kind, self._errors = kind, _errors(kind)
        self._raw = packed.again(packed=True)
        self._counter: CompressedFile | None = None
        self._restart()

    def _restart(self) -> None:
        self._packed = self._from = 0
        self._part: _Part | None = None
        self._data = bytearray()
        self._failure: DamagedDataError | None = None

    @property
    def _end(self) -> int:
        """The position after the unpacked bytes."""
        return self._from + len(self._data)

    def resume(self, offset: SourceOffset | None) -> int:
        """The position of a committed offset; raise if the offset does not belong to this file."""
        self._restart()  # the first bytes are known only while they are unpacked
        return super().resume(offset)

    def read(self, start: int, size: int) -> Chunk:
        """Unpack up to `size` bytes from `start`; raise if the file has vanished, shrunk or been replaced."""
        if start < self._from:
            self._restart()
        failed = self._failure
        at_end = self._unpack(start, start + size)
        if self._end < start:
            raise failed or self._failure or self._shrunk(self._end, start)
        if failed:  # the bytes before the damage were returned by an earlier call
            raise failed
        at = start - self._from
        data = bytes(memoryview(self._data)[at : at + size])
        at_end = at_end and start + len(data) == self._end and self._failure is None
        self._seen_end = self._packed if at_end else None
        return Chunk(start, data, at_end, whole=self._part is None)

    def release(self, position: int) -> None:
        """Let go of bytes before a position, which are not read again."""
        self._drop(position - _LOOK_BACK_BYTES)
        self._raw.release(self._packed)

    def look(self) -> int | None:
        """The size of the file now, packed; None if there is no such file."""
        return self._raw.look()

    def exists(self) -> bool:
        """Whether there is a file under the name."""
        return self._raw.exists()

    def version(self) -> str:
        """A text that changes when the file is written to or replaced."""
        return self._raw.version()

    def line_number(self, position: int, known: tuple[int, int] = (0, 1)) -> int:
        """The number of the line at a position, counted from a known (position, line)."""
        # A reader of its own, which also only goes forwards: positions are asked for in ascending order.
        counter = self._counter = self._counter or CompressedFile(self._raw, self._kind)
        at, line = known if known[0] <= position else (0, 1)
        while at < position and (data := counter.read(at, min(1 << 20, position - at)).data):
            line += data.count(b"\n")
            at += len(data)
        counter.release(at)
        return line

    def _unpack(self, start: int, end: int) -> bool:
        """Unpack until one byte after `end` is known, and drop the bytes before `start`; tell whether the file ends."""
        while self._end <= end and self._failure is None:
            packed = self._raw.read(self._packed, _READ_BYTES).data
            if not packed:
                break
            for at in range(0, len(packed), _UNPACK_BYTES):
                self._feed(packed[at : at + _UNPACK_BYTES])
                self._drop(start - _LOOK_BACK_BYTES)
                if self._end > end or self._failure:
                    break
        else:  # the bytes are known already; check only that the file is still the same
            self._raw.read(self._packed, 0)
        self._inode = self._raw.inode
        return self._end <= end

    def _feed(self, packed: bytes) -> None:
        self._packed += len(packed)
        try:
            while packed := self._next_part(packed):
                part: Any = self._part
                self._take(part.decompress(packed))
                packed = part.unused_data if part.eof else b""
                self._part = None if part.eof else part
        except self._errors as why:
            said = f"{self.path} cannot be read as {self._kind} behind byte {self._end} of what it holds ({why})"
            self._failure = DamagedDataError(f"{said}; {REMEDY}")

    def _next_part(self, packed: bytes) -> bytes:
        """Begin the next part if there is one, after zero bytes, which pad files on tapes."""
        if self._part is None and (packed := packed.lstrip(b"\0")):
            self._part = _decompressor(self._kind)
        return packed

    def _take(self, data: bytes) -> None:
        if self._end < HEAD_BYTES:
            self._head = (self._head[: self._end] + data)[:HEAD_BYTES]
        self._data += data

    def _drop(self, position: int) -> None:
        passed = min(max(0, position - self._from), len(self._data))
        del self._data[:passed]
        self._from += passed


def _decompressor(kind: str) -> _Part:
    if kind == "gzip":
        return zlib.decompressobj(wbits=31)
    part: _Part = importlib.import_module("zstandard").ZstdDecompressor().decompressobj()
    return part


def _errors(kind: str) -> tuple[type[Exception], ...]:
    return (zlib.error,) if kind == "gzip" else (importlib.import_module("zstandard").ZstdError,)
