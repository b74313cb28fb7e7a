"""Read what a compressed file holds as if it were plain, forwards."""

from __future__ import annotations

import importlib
import zlib
from typing import Any, Final, Protocol

from eosfw.errors import ConfigError, DamagedDataError, Problem
from eosfw_file import file_signature
from eosfw_file.source_file import HEAD_BYTES, REMEDY, Chunk, SourceFile

_READ_BYTES: Final = 1 << 16
"""Bytes of the file that are read at once."""
_UNPACK_BYTES: Final = 1 << 10
"""Bytes that are unpacked at once: the most that these can become is 32 MiB, whoever packed them."""
_LOOK_BACK_BYTES: Final = 4
"""How far behind the last position a reader may look back."""


class _Part(Protocol):
    """One gzip member or zstd frame that is being unpacked."""

    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, /) -> bytes: ...


def open_source_file(path: str) -> SourceFile:
    """A file as what it holds, which its first bytes tell; ConfigError if that needs a library that is missing."""
    found = SourceFile(path, packed=True)
    found.read(0, 0)
    kind = file_signature.compression(found.head)
    return SourceFile(path) if kind is None else CompressedFile(path, kind)


def missing_library(kind: str) -> str | None:
    """What to install before files of this compression can be read."""
    try:
        _decompressor(kind)
    except ImportError:
        return f"is compressed with {kind}, which needs a library: pip install 'eosfw-file[{kind}]'"
    return None


class CompressedFile(SourceFile):
    """Positions count bytes of what the file holds. Going on costs nothing; going back unpacks all that lies before."""

    sequential = True

    def __init__(self, path: str, kind: str) -> None:
        super().__init__(path)
        if lacking := missing_library(kind):
            raise ConfigError(Problem("file", f"{path} {lacking}"))
        self._kind, self._errors = kind, _errors(kind)
        self._raw = SourceFile(path, packed=True)
        self._counter: CompressedFile | None = None
        self._restart()

    def _restart(self) -> None:
        self._packed = self._from = 0
        self._part: _Part | None = None
        self._data = bytearray()
        self._failure: DamagedDataError | None = None

    @property
    def _end(self) -> int:
        """The position behind what was unpacked."""
        return self._from + len(self._data)

    def read(self, start: int, size: int) -> Chunk:
        """Unpack up to `size` bytes from `start`; raise if the file vanished, shrank or is another one by now."""
        if start < self._from:
            self._restart()
        failed = self._failure
        at_end = self._unpack(start, start + size)
        if self._end < start:
            raise failed or self._failure or self._shrunk(self._end, start)
        if failed:  # what lies before was handed out already
            raise failed
        at = start - self._from
        data = bytes(memoryview(self._data)[at : at + size])
        at_end = at_end and start + len(data) == self._end and self._failure is None
        self._seen_end = self._packed if at_end else None
        return Chunk(start, data, at_end, whole=self._part is None)

    def line_number(self, position: int, known: tuple[int, int] = (0, 1)) -> int:
        """Count on from a known (position, line) to the line that begins at a position."""
        # By a reader of its own, which goes forwards too: findings come in order.
        counter = self._counter = self._counter or CompressedFile(self.path, self._kind)
        at, line = known if known[0] <= position else (0, 1)
        while at < position and (data := counter.read(at, min(1 << 20, position - at)).data):
            line += data.count(b"\n")
            at += len(data)
        return line

    def _unpack(self, start: int, end: int) -> bool:
        """Unpack until a byte behind `end` is known, keeping what may be asked for; tell whether the file ends."""
        while self._end <= end and self._failure is None:
            packed = self._raw.read(self._packed, _READ_BYTES).data
            if not packed:
                break
            for at in range(0, len(packed), _UNPACK_BYTES):
                self._feed(packed[at : at + _UNPACK_BYTES])
                self._drop(start - _LOOK_BACK_BYTES)
                if self._end > end or self._failure:
                    break
        else:  # what was asked for is known already: whether the file is still the same is not
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
        """Begin the next part if there is one, behind the zeros that tapes are padded with."""
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
