"""Read the records of one file in batches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eosfw.errors import DamagedDataError
from eosfw_file.file_records import FileRecords
from eosfw_file.formats.malformed_lines import CORRECT, IncompleteRecord, MalformedLine
from eosfw_file.formats.text_format import NEWLINE, ParsedRecords, TextChunk

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eosfw.records import SourceOffset
    from eosfw_file.files.source_file import Chunk, SourceFile
    from eosfw_file.formats.choice import FormatOpener
    from eosfw_file.formats.malformed_lines import MalformedLines
    from eosfw_file.formats.text_format import Format

CHUNK_BYTES = 1 << 20
MAX_LINE_BYTES = 1 << 26
"""A line of more bytes is refused: by default Kafka takes records of at most 1 MiB."""
BATCH_BYTES = 1 << 23
"""A batch of so many bytes is returned even if it has fewer records than asked for."""


class FileReader:
    """Reads one file from a committed position on; records that were read ahead can be dropped at any time."""

    def __init__(
        self, file: SourceFile, format_opener: FormatOpener, malformed: MalformedLines, *, emit_incomplete: bool
    ) -> None:
        self.file = file
        self.malformed = malformed
        self.waiting: IncompleteRecord | None = None
        """The incomplete last record, if there is one."""
        self._format_opener = format_opener
        self._format: Format | None = None
        self._emit = emit_incomplete
        self._position = self._next = 0
        self._ended = False
        self._values: Sequence[Any] = ()
        self._ends: Sequence[int] = ()

    @property
    def emits_incomplete(self) -> bool:
        """Whether an incomplete last line is taken as it is."""
        return self._emit

    def finish(self) -> None:
        """Take an incomplete last line as it is from now on: nobody writes its rest."""
        self._emit, self._ended = True, False

    def read_again(self) -> None:
        """Read on even if the file has the size that it had: it may be another one, or have been written anew."""
        self._ended = False

    def start(self, offset: SourceOffset | None) -> None:
        """Go to the committed offset."""
        self._position = self._next = self.file.resume(offset)

    def take(self, limit: int) -> FileRecords | None:
        """The next records; None if there are none at the moment."""
        while len(self._values) < limit and self._read_ahead() < BATCH_BYTES and self._read_more():
            pass
        if not self._values:
            # A task may have ten thousand files that are at their ends, and a file keeps up to some MiB.
            self.file.release(self._next)
            return None
        schema = None if self._format is None else self._format.schema
        taken = FileRecords(self._values[:limit], self._ends[:limit], schema)
        self._values, self._ends = self._values[limit:], self._ends[limit:]
        self._position = taken.ends[-1]
        return taken

    def drop_read_ahead(self) -> None:
        """Drop the records that were read ahead, unless the file cannot go back cheaply; they are read again."""
        if self.file.sequential:
            return
        if self._values:
            self._values, self._ends = (), ()
            self._next, self._ended = self._position, False
        self.file.release(self.file.size())

    def at_end(self) -> bool:
        """Whether every record that the file holds now was taken."""
        return self._ended and not self._values and not self.file.has_grown()

    @property
    def end(self) -> int:
        """The position behind all that was taken, and behind what came after it and was no record."""
        return self._position if self._values else self._next

    def is_finished(self) -> bool:
        """Whether the file, which is not empty, was taken to its end, and no incomplete record waits there."""
        return self.waiting is None and self.end > 0 and self.at_end()

    def offset(self, position: int) -> SourceOffset:
        """The source offset of a position that was read."""
        return self.file.offset(position)

    def offsets(self, positions: Sequence[int]) -> list[SourceOffset]:
        """The source offsets of ascending positions that were read."""
        return self.file.offsets(positions)

    def waiting_notice(self) -> tuple[int, str] | None:
        """The position of an incomplete last record and what to say of it, if there is one."""
        return None if self.waiting is None else (self.waiting.position, self.malformed.waiting(self.waiting))

    def close(self) -> None:
        """Nothing is open between two polls."""

    def progress(self) -> tuple[int, int] | None:
        """The bytes that were taken and the bytes of the file; None for a compressed file, whose size is unknown."""
        return None if self.file.sequential else (self._position, max(self._position, self.file.size()))

    def _read_more(self) -> bool:
        try:
            return self._fill()
        except DamagedDataError:
            if self._values:  # return the valid records first; the next call fails
                return False
            raise

    def _read_ahead(self) -> int:
        return self._ends[-1] - self._position if self._ends else 0

    def _fill(self) -> bool:
        """Read on; tell whether records were found."""
        size = CHUNK_BYTES
        while not self._ended or self.file.has_grown():
            reading = self._format or self._open()
            if reading is None:
                return False
            before = self._next
            if self._read(reading, size):
                return True
            size = CHUNK_BYTES if self._next > before else self._larger_chunk(size)
        return False

    def _open(self) -> Format | None:
        size = 0
        while True:
            chunk = self.file.read(0, size)
            try:
                opened = self._format_opener(self._text(chunk, size))
            except MalformedLine as found:
                raise self.malformed.failure(found, CORRECT) from None  # a header cannot be skipped
            if opened is not None:
                self._format, first = opened
                self._next = self._position = max(self._position, first)
                return self._format
            if chunk.at_end:
                self._ended = True
                self.waiting = _waiting(chunk, ParsedRecords((), (), 0), 0)
                return None
            size = self._larger_chunk(size)

    def _read(self, reading: Format, size: int) -> bool:
        """Parse the next chunk and keep its records; tell whether it held any."""
        self._skip_line_end()
        chunk = self.file.read(self._next, size)
        text = self._text(chunk, size)
        try:
            parsed, ended = reading.parse(text, self.malformed.report_malformed), chunk.at_end
        except MalformedLine as found:
            parsed, ended = self._parse_before(found, reading, text), False
        if self._emit and not chunk.whole and ended:
            ended = self._require_complete_data(parsed)
        self._values, self._ends = [*self._values, *parsed.values], [*self._ends, *parsed.ends]
        self._next, self._ended = parsed.next, ended
        self.waiting = _waiting(chunk, parsed, text.end) if ended else None
        return bool(parsed.values)

    def _require_complete_data(self, parsed: ParsedRecords) -> bool:
        """Fail if only the missing end of a truncated compressed file is left."""
        if not parsed.values:
            path, rest = self.file.path, "restore it, or let it be waited for (incomplete.last.line = wait)"
            raise DamagedDataError(f"{path} ends in the middle of its compressed data, at byte {parsed.next}; {rest}")
        return False

    def _parse_before(self, found: MalformedLine, reading: Format, text: TextChunk) -> ParsedRecords:
        """The records before a malformed line: they are committed before the task fails, and not read again."""
        if found.position == text.start:
            raise self.malformed.failure(found) from None
        sound = text.data[: found.position - text.start]
        return reading.parse(TextChunk(text.start, sound, last=False), self.malformed.report_malformed)

    def _text(self, chunk: Chunk, size: int) -> TextChunk:
        """The complete lines of a chunk, with the rest after them if that counts as a line."""
        if chunk.at_end and chunk.whole and self._emit:
            return TextChunk(chunk.start, chunk.data, last=True)
        # The next write may close a quote that is open at the end of the file: the reader waits for it as for a missing
        # newline, until the value would be too large.
        whole = chunk.data[: chunk.data.rfind(NEWLINE) + 1]
        return TextChunk(chunk.start, whole, last=size >= MAX_LINE_BYTES)

    def _skip_line_end(self) -> None:
        """Skip the newline of a line that was emitted without one (`incomplete.last.line = emit`) and has it now."""
        if not self._emit or self._next == 0:
            return
        around = self.file.read(self._next - 1, 3).data
        for line_end in (b"\n", b"\r\n"):
            if around[:1] != NEWLINE and around[1:].startswith(line_end):
                self._next += len(line_end)
                return

    def _larger_chunk(self, size: int) -> int:
        if size >= MAX_LINE_BYTES:
            what = f"a line of more than {MAX_LINE_BYTES >> 20} MiB; is this a text file?"
            raise self.malformed.failure(MalformedLine(self._next, what), CORRECT)
        return max(CHUNK_BYTES, 2 * size)


def _waiting(chunk: Chunk, parsed: ParsedRecords, lines_end: int) -> IncompleteRecord | None:
    """The incomplete record at the end of a file, if there is one."""
    if not chunk.whole:
        return IncompleteRecord(parsed.next, "the compressed data is not whole yet")
    if parsed.next >= chunk.start + len(chunk.data):
        return None
    quoted = parsed.next < lines_end
    return IncompleteRecord(
        parsed.next, "a quoted value is not closed yet" if quoted else "the last line is not whole yet"
    )
