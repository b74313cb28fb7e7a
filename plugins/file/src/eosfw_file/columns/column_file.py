"""What the formats of columns have in common: parts with rows, and a footer that says where they are."""

from __future__ import annotations

import hashlib
from typing import IO, TYPE_CHECKING, ClassVar, Protocol

from eosfw.errors import DamagedDataError
from eosfw_file.files.source_file import HEAD_BYTES, REMEDY

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from eosfw_file.files.source_file import SourceFile

LENGTH_BYTES = 4
"""Of the length of the footer, which stands between it and the mark at the end."""


class ColumnFile(Protocol):
    """An open file of columns."""

    title: ClassVar[str]
    """The name of the format."""
    mark: ClassVar[bytes]
    """The bytes at both ends of a file."""
    part: ClassVar[str]
    """What a part is called, in source offsets."""
    schema: pa.Schema
    parts: int

    def __init__(self, handle: IO[bytes] | pa.NativeFile) -> None: ...

    def batches(self, part: int, rows: int) -> Iterator[pa.RecordBatch]:
        """The rows of a part in batches, of about so many if the format lets choose."""


def identity(file: SourceFile, kind: type[ColumnFile]) -> str | None:
    """A text that identifies a whole file by its inode, first bytes, size and footer; None if it has no footer yet.

    DamagedDataError if it is none of this format.
    """
    file.read(0, 0)
    size, marks = file.size(), len(kind.mark)
    if file.head[:marks] != kind.mark[: len(file.head)]:
        raise DamagedDataError(f"{file.path} is no {kind.title} file{_stream(file.head)}; {REMEDY}")
    tail_bytes = LENGTH_BYTES + marks
    if size < marks + tail_bytes:
        file.read(size, 0)  # to its end, so that it is known whether it has grown
        return None
    tail = file.read(size - tail_bytes, tail_bytes).data
    footer = size - tail_bytes - int.from_bytes(tail[:LENGTH_BYTES], "little")
    if not tail.endswith(kind.mark) or footer < marks:
        return None
    found = hashlib.blake2b(f"{size}:{file.identity(HEAD_BYTES)}:".encode(), digest_size=16)
    found.update(file.read(footer, size - footer).data)
    return found.hexdigest()


def _stream(head: bytes) -> str:
    return " (it is Arrow's stream format, which has no footer)" if head.startswith(b"\xff\xff\xff\xff") else ""
