"""The records of one file that a task takes at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from eosfw.data import Schema
    from eosfw.records import SourceOffset
    from eosfw_file.files.source_file import SourceFile


@dataclass(frozen=True, slots=True)
class FileRecords:
    """Records with the position after each, and their schema if they have one."""

    values: Sequence[Any] | pa.RecordBatch
    ends: Sequence[int]
    schema: Schema | None = None


class Reader(Protocol):
    """Reads one file from a committed position on; a position is a number that grows."""

    file: SourceFile

    def start(self, offset: SourceOffset | None) -> None:
        """Go to the committed offset; DamagedDataError if it does not belong to this file."""

    def take(self, limit: int) -> FileRecords | None:
        """The next records; None if there are none at the moment."""

    def drop_read_ahead(self) -> None:
        """Let go of what is not needed while other files are read."""

    def at_end(self) -> bool:
        """Whether every record that the file holds now was taken."""

    def is_finished(self) -> bool:
        """Whether the file, which is not empty, was taken to its end, and no incomplete record waits there."""

    @property
    def end(self) -> int:
        """The position behind all that was taken."""

    def offset(self, position: int) -> SourceOffset:
        """The source offset of a position that was read."""

    def offsets(self, positions: Sequence[int]) -> list[SourceOffset]:
        """The source offsets of ascending positions that were read."""

    def progress(self) -> tuple[int, int] | None:
        """The bytes that were taken and the bytes of the file; None if that is unknown."""

    def waiting_notice(self) -> tuple[int, str] | None:
        """The position of an incomplete last record and what to say of it, if there is one."""

    def close(self) -> None:
        """Close what is open."""
