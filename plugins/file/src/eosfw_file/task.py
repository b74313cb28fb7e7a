"""The tasks of the file connectors."""

from __future__ import annotations

from dataclasses import replace
from time import monotonic
from typing import TYPE_CHECKING, ClassVar

from eosfw.connectors import SourceProgress, SourceTask
from eosfw.data import STRING, Utf8Strings
from eosfw.errors import RetriableError
from eosfw.records import SourceBatch
from eosfw_file.completion import Completion
from eosfw_file.files.completed_files import CompletedFiles
from eosfw_file.files.completed_objects import CompletedObjects
from eosfw_file.files.compressed_file import open_source_file
from eosfw_file.files.file_systems import FileSystems, is_url
from eosfw_file.files.remote_file import RemoteFile
from eosfw_file.files.source_file import SourceFile
from eosfw_file.formats.choice import format_opener
from eosfw_file.formats.malformed_lines import MalformedLines
from eosfw_file.properties import COLUMN_FORMATS, TASK, completed_folder
from eosfw_file.reader import FileReader
from eosfw_file.rotating_reader import RotatingReader

if TYPE_CHECKING:
    from collections.abc import Callable

    from eosfw.config import Config, ConfigDef
    from eosfw.connectors import SourceTaskContext
    from eosfw.records import SourceOffset, SourcePartition
    from eosfw_file.file_records import FileRecords, Reader

POLLS_PER_TURN = 256
"""Polls that one file may fill before the next file is read, so that every file moves on."""


def source_partition(path: str) -> SourcePartition:
    """The source partition of a file: its absolute path, as in Kafka's own file connector."""
    return {"filename": path}


def completion_of(config: Config, clock: Callable[[], float]) -> Completion | None:
    """What becomes of finished files; None if they are kept."""
    if config["after.commit"] == "keep":
        return None
    deletes = config["after.commit"] == "delete"
    folder = None if deletes else completed_folder(config)
    local, remote = CompletedFiles(folder), CompletedObjects(FileSystems(config["storage.options"]), folder)
    return Completion(
        lambda path: remote if is_url(path) else local, config["file.poll.interval.ms"] / 1000, clock, deletes=deletes
    )


class FileSourceTask(SourceTask):
    """Polls its files in turn: each one until it ends or has filled its polls."""

    config: ClassVar[ConfigDef | None] = TASK

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock

    def start(self, config: Config, context: SourceTaskContext) -> None:
        self._topic: str = config["topic"]
        self._batch: int = config["batch.size"]
        self._config, self._context = config, context
        self._completion = completion_of(config, self._clock)
        self._systems = FileSystems(config["storage.options"])
        self._readers: list[Reader] = []
        self._unopened = [(path, context.offset(source_partition(path))) for path in config["task.files"]]
        # Those of other machines are opened by polls, which are repeated while nothing answers.
        if not any(is_url(path) for path, _ in self._unopened):
            self._open_all()
        self._turn = 0
        self._reported: set[tuple[str, int]] = set()

    def poll(self) -> SourceBatch | list[SourceBatch] | None:
        self._open_all()
        if self._completion is not None:
            self._complete(self._completion)
        for _ in self._readers:
            reader = self._readers[self._turn // POLLS_PER_TURN]
            taken = reader.take(self._batch)
            if taken is None:
                self._next_file()
                if alone := self._offset_alone(reader):
                    return alone
                continue
            self._turn += 1
            if self._turn % POLLS_PER_TURN == 0:
                reader.drop_read_ahead()
                self._turn %= POLLS_PER_TURN * len(self._readers)
            batch = self._source_batch(reader, taken)
            if self._completion is None:
                return batch
            self._completion.on_records(reader)
            try:
                return [batch, *self._offset_alone(reader)]
            except RetriableError:  # the next poll asks again: these records are not read twice
                return [batch]
        return None

    def commit(self) -> None:
        if self._completion is not None:
            self._completion.on_commit()

    def at_end(self) -> bool:
        try:
            if self._unopened or not all(reader.at_end() for reader in self._readers):
                return False
        except RetriableError:  # the next poll reports it
            return False
        if self._completion is not None and self._completion.pending:
            return False
        self._report_incomplete_records()
        return True

    def progress(self) -> SourceProgress | None:
        known = [found for reader in self._readers if (found := reader.progress()) is not None]
        if self._unopened or len(known) < len(self._readers):
            return None
        return SourceProgress(sum(done for done, _ in known), sum(total for _, total in known))

    def stop(self) -> None:
        for reader in self._readers:
            reader.close()
        self._readers = []

    def _open_all(self) -> None:
        """Begin with files that are not open yet at their offsets, unless they were done with before."""
        while self._unopened:
            path, offset = self._unopened[0]
            if self._completion is None or not self._completion.is_missing(path, offset):
                self._readers.append(self._reader(path, offset))
            del self._unopened[0]

    def _reader(self, path: str, offset: SourceOffset | None) -> Reader:
        reader = self._new_reader(path)
        if self._completion is None:
            reader.start(offset)
        else:
            self._completion.start(reader, offset)
        return reader

    def _new_reader(self, path: str) -> Reader:
        config = self._config
        if config["format"] in COLUMN_FORMATS:
            from eosfw_file.columns.choice import column_reader

            return column_reader(self._packed_file(path), config)
        if config["rotation"] == "follow":
            wait = config["rotation.wait.ms"] / 1000
            return RotatingReader(path, self._text_reader, wait, self._clock)
        return self._text_reader(path)

    def _text_reader(self, path: str) -> FileReader:
        config, file = self._config, open_source_file(self._packed_file(path))
        malformed = MalformedLines(file, self._context.notice if config["malformed"] == "skip" else None)
        emit = config["incomplete.last.line"] == "emit"
        return FileReader(file, format_opener(config), malformed, emit_incomplete=emit)

    def _packed_file(self, path: str) -> SourceFile:
        if not is_url(path):
            return SourceFile(path, packed=True)
        interval = self._config["file.poll.interval.ms"] / 1000
        return RemoteFile(self._systems.location(path), interval, self._clock, packed=True)

    def _complete(self, completion: Completion) -> None:
        """Move or delete finished files whose ends are committed, and begin with others that have their names."""
        completion.on_poll()
        for reader in completion.removed(tuple(self._readers)):
            self._readers.remove(reader)
            reader.close()
            self._turn = 0
        self._unopened += [(path, None) for path in completion.returned()]

    def _offset_alone(self, reader: Reader) -> list[SourceBatch]:
        """An offset that says more than that of the last record, in a batch of its own."""
        if isinstance(reader, RotatingReader):
            offset = reader.statement()
        else:
            offset = None if self._completion is None else self._completion.end_of(reader)
        return [] if offset is None else [SourceBatch(self._topic, (), source_partition(reader.file.path), offset)]

    def _next_file(self) -> None:
        self._turn = (self._turn // POLLS_PER_TURN + 1) % len(self._readers) * POLLS_PER_TURN

    def _source_batch(self, reader: Reader, taken: FileRecords) -> SourceBatch:
        return SourceBatch(
            topic=self._topic,
            values=taken.values,
            value_schema=taken.schema,
            source_partition=source_partition(reader.file.path),
            source_offset=reader.offset(taken.ends[-1]),
            source_offsets=reader.offsets(taken.ends) if self._context.record_offsets else None,
        )

    def _report_incomplete_records(self) -> None:
        for reader in self._readers:
            if (waiting := reader.waiting_notice()) is None:
                continue
            position, text = waiting
            if (place := (reader.file.path, position)) not in self._reported:
                self._reported.add(place)
                self._context.notice("waiting line", text)


class FileStreamSourceTask(FileSourceTask):
    """Gives lines as strings with a schema, as Kafka's `FileStreamSourceTask` does."""

    def _source_batch(self, reader: Reader, taken: FileRecords) -> SourceBatch:
        batch = super()._source_batch(reader, taken)
        return (
            batch if taken.schema is not None else replace(batch, values=Utf8Strings(taken.values), value_schema=STRING)
        )
