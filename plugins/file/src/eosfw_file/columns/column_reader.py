"""Read the rows of one file of columns in batches."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import IO, TYPE_CHECKING, Final

import pyarrow as pa

from eosfw.data import schema_of
from eosfw.errors import DamagedDataError, DataError
from eosfw_file.columns.column_file import ColumnFile, identity
from eosfw_file.columns.time_zone import localized
from eosfw_file.file_records import FileRecords
from eosfw_file.files.source_file import REMEDY

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eosfw.data import Schema
    from eosfw.records import SourceOffset
    from eosfw_file.files.source_file import SourceFile

_PART: Final = 40
"""A position is one number: that of the part, then in so many bits that of the row in it."""
_ROWS: Final = (1 << _PART) - 1


class _OpenColumns:
    """The open file with its rows from a position on."""

    def __init__(self, kind: type[ColumnFile], handle: IO[bytes] | pa.NativeFile, zone: str | None) -> None:
        self.columns = kind(handle)
        schema, self._localized = localized(self.columns.schema, zone)
        self.schema: Schema = schema_of(schema)
        self._batches: Iterator[pa.RecordBatch] = iter(())
        self._rest: pa.RecordBatch | None = None
        self._skip = 0

    def go_to(self, part: int, row: int, rows: int) -> None:
        self._batches, self._rest, self._skip = self.columns.batches(part, rows), None, row

    def rows(self, limit: int) -> pa.RecordBatch | None:
        """The next rows of the part; None at its end."""
        while self._rest is None or not self._rest.num_rows:
            self._rest = next(self._batches, None)
            if self._rest is None:
                return None
            skipped = min(self._skip, self._rest.num_rows)
            self._rest, self._skip = self._rest.slice(skipped), self._skip - skipped
        found, self._rest = self._rest.slice(0, limit), self._rest.slice(limit)
        return self._localized(found)


class ColumnReader:
    """Reads one file from a committed row on; it is open during a task's turn with it alone."""

    def __init__(self, file: SourceFile, kind: type[ColumnFile], *, zone: str | None, emit_incomplete: bool) -> None:
        self.file = file
        self._kind, self._zone, self._emit = kind, zone, emit_incomplete
        self._identity: str | None = None
        self._position = 0
        self._parts: int | None = None
        self._resources = ExitStack()
        self._open: _OpenColumns | None = None

    # --- as of other readers

    def start(self, offset: SourceOffset | None) -> None:
        """Go to the committed offset."""
        self._position, self._parts = 0, None
        self._identity = identity(self.file, self._kind)
        if offset is None:
            return
        part, row, known = (offset.get(name) for name in (self._kind.part, "row", "id"))
        if not (isinstance(part, int) and isinstance(row, int) and isinstance(known, str)):
            said = f"its committed offset {dict(offset)!r} is none of format {self._kind.title}"
            raise DamagedDataError(f"{self.file.path}: {said}; {REMEDY}")
        if known != self._identity:
            raise DamagedDataError(f"{self.file.path} is not the file that was read before; {REMEDY}")
        self._position = part << _PART | row

    def take(self, limit: int) -> FileRecords | None:
        """The next rows; None if there are none at the moment."""
        if self._identity is None and not self._is_whole():
            return None
        with self.file.translated(), self._translated():
            while self._parts is None or self._position >> _PART < self._parts:
                found = self._opened(limit)
                if (batch := found.rows(limit)) is not None:
                    first = self._position + 1
                    self._position += batch.num_rows
                    return FileRecords(batch, range(first, self._position + 1), found.schema)
                self._next_part(found, limit)
        self.close()
        return None

    def drop_read_ahead(self) -> None:
        """Close the file; it is opened again where it was."""
        self.close()

    def at_end(self) -> bool:
        """Whether all rows were taken."""
        if self._identity is None:
            return not self.file.has_grown()
        return self._parts is not None and self._position >> _PART >= self._parts and not self._was_replaced()

    def is_finished(self) -> bool:
        """Whether the file is whole, and all its rows were taken."""
        return self._identity is not None and self.at_end()

    @property
    def end(self) -> int:
        """The position behind all that was taken."""
        return self._position

    def offset(self, position: int) -> SourceOffset:
        """The source offset of a position."""
        return {self._kind.part: position >> _PART, "row": position & _ROWS, "id": self._identity}

    def offsets(self, positions: Sequence[int]) -> list[SourceOffset]:
        """The source offsets of positions."""
        return list(map(self.offset, positions))

    def progress(self) -> tuple[int, int] | None:
        """The bytes that were taken, as if all parts had as many, and the bytes of the file."""
        size = self.file.size()
        if self._parts is None:
            return 0, size
        return size * min(self._position >> _PART, self._parts) // max(1, self._parts), size

    def waiting_notice(self) -> tuple[int, str] | None:
        """The position that waits for more data and what to say of it, if there is one."""
        if self._identity is not None:
            return None
        return 0, f"{self.file.path}: it has no footer yet, so it waits (incomplete.last.line = wait)"

    def close(self) -> None:
        """Close the file."""
        self._resources.close()
        self._open = None

    # --- its own

    def _is_whole(self) -> bool:
        if self.file.has_grown():
            self._identity = identity(self.file, self._kind)
        if self._identity is None and self._emit:
            rest = "restore it, or let it be waited for (incomplete.last.line = wait)"
            raise DamagedDataError(f"{self.file.path} has no footer, so it is no whole {self._kind.title} file; {rest}")
        return self._identity is not None

    def _was_replaced(self) -> bool:
        if not self.file.has_grown():
            return False
        self._check()
        return True

    def _check(self) -> None:
        if identity(self.file, self._kind) != self._identity:
            raise DamagedDataError(f"{self.file.path} was replaced or rewritten while it was read; {REMEDY}")

    def _opened(self, limit: int) -> _OpenColumns:
        if self._open is None:
            self._check()
            handle = self._resources.enter_context(self.file.handle())
            self._open = _OpenColumns(self._kind, handle, self._zone)
            self._parts = self._open.columns.parts
            if self._position >> _PART < self._parts:
                self._open.go_to(self._position >> _PART, self._position & _ROWS, limit)
        return self._open

    def _next_part(self, found: _OpenColumns, limit: int) -> None:
        self._position = ((self._position >> _PART) + 1) << _PART
        if self._position >> _PART < found.columns.parts:
            found.go_to(self._position >> _PART, 0, limit)

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except DataError as why:
            self.close()
            raise DamagedDataError(
                f"{self.file.path}: {why}, or say by timestamp.timezone what timestamps without one mean"
            ) from None
        except (pa.ArrowException, ValueError) as why:
            self.close()
            what = f"{self._kind.part} {self._position >> _PART}, row {self._position & _ROWS}"
            raise DamagedDataError(
                f"{self.file.path} cannot be read as {self._kind.title} from {what} on: {type(why).__name__}; {REMEDY}"
            ) from None
        except BaseException:
            self.close()
            raise
