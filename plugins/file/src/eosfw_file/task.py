"""The tasks of the file connectors."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from eosfw.connectors import SourceProgress, SourceTask
from eosfw.data import STRING, Utf8Strings
from eosfw.records import SourceBatch
from eosfw_file.files.compressed_file import open_source_file
from eosfw_file.formats.choice import format_opener
from eosfw_file.formats.malformed_lines import MalformedLines
from eosfw_file.properties import TASK
from eosfw_file.reader import FileReader, FileRecords

if TYPE_CHECKING:
    from eosfw.config import Config, ConfigDef
    from eosfw.connectors import SourceTaskContext
    from eosfw.records import SourcePartition

POLLS_PER_TURN = 256
"""Polls that one file may fill before the next file is read, so that every file moves on."""


def source_partition(path: str) -> SourcePartition:
    """The source partition of a file: its absolute path, as in Kafka's own file connector."""
    return {"filename": path}


class FileSourceTask(SourceTask):
    """Polls its files in turn: each one until it ends or has filled its polls."""

    config: ClassVar[ConfigDef | None] = TASK

    def start(self, config: Config, context: SourceTaskContext) -> None:
        self._topic: str = config["topic"]
        self._batch: int = config["batch.size"]
        self._context = context
        self._readers = [self._reader(path, config) for path in config["task.files"]]
        self._turn = 0
        self._reported: set[tuple[str, int]] = set()

    def poll(self) -> SourceBatch | None:
        for _ in self._readers:
            reader = self._readers[self._turn // POLLS_PER_TURN]
            taken = reader.take(self._batch)
            if taken is None:
                self._next_file()
                continue
            self._turn += 1
            if self._turn % POLLS_PER_TURN == 0:
                reader.drop_read_ahead()
                self._turn %= POLLS_PER_TURN * len(self._readers)
            return self._source_batch(reader, taken)
        return None

    def at_end(self) -> bool:
        if not all(reader.at_end() for reader in self._readers):
            return False
        self._report_incomplete_records()
        return True

    def progress(self) -> SourceProgress | None:
        known = [found for reader in self._readers if (found := reader.progress()) is not None]
        if len(known) < len(self._readers):
            return None
        return SourceProgress(sum(done for done, _ in known), sum(total for _, total in known))

    def stop(self) -> None:
        self._readers = []

    def _reader(self, path: str, config: Config) -> FileReader:
        file = open_source_file(path)
        skip = config["malformed"] == "skip"
        malformed = MalformedLines(file, self._context.notice if skip else None)
        reader = FileReader(
            file, format_opener(config), malformed, emit_incomplete=config["incomplete.last.line"] == "emit"
        )
        reader.start(self._context.offset(source_partition(path)))
        return reader

    def _next_file(self) -> None:
        self._turn = (self._turn // POLLS_PER_TURN + 1) % len(self._readers) * POLLS_PER_TURN

    def _source_batch(self, reader: FileReader, taken: FileRecords) -> SourceBatch:
        return SourceBatch(
            topic=self._topic,
            values=taken.values,
            source_partition=source_partition(reader.file.path),
            source_offset=reader.file.offset(taken.ends[-1]),
            source_offsets=reader.file.offsets(taken.ends) if self._context.record_offsets else None,
        )

    def _report_incomplete_records(self) -> None:
        for reader in self._readers:
            if (
                reader.waiting is not None
                and (place := (reader.file.path, reader.waiting.position)) not in self._reported
            ):
                self._reported.add(place)
                self._context.notice("waiting line", reader.malformed.waiting(reader.waiting))


class FileStreamSourceTask(FileSourceTask):
    """Gives lines as strings with a schema, as Kafka's `FileStreamSourceTask` does."""

    def _source_batch(self, reader: FileReader, taken: FileRecords) -> SourceBatch:
        return replace(super()._source_batch(reader, taken), values=Utf8Strings(taken.values), value_schema=STRING)
