"""The file connectors, which give each file to exactly one task."""

from __future__ import annotations

import os
from dataclasses import replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, ClassVar

from eosfw.builtin.converters import value_schema
from eosfw.connectors import ConnectorTransactionBoundaries, ExactlyOnceSupport, SourceConnector
from eosfw.errors import BadRequestError, ConfigError, Problem, RetriableError
from eosfw_file.files import discovery
from eosfw_file.files.file_systems import FileSystems, is_url, url_problem
from eosfw_file.properties import COLUMN_FORMATS, CONNECTOR, PARTS, completed_folder, task_properties
from eosfw_file.task import FileSourceTask, FileStreamSourceTask

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from eosfw.config import Config, ConfigDef
    from eosfw.connectors import SourceConnectorContext, SourceTask
    from eosfw.records import SourceOffset, SourcePartition


class FileSourceConnector(SourceConnector):
    """Reads files, exactly once; new files of a folder or glob are found while it runs."""

    name: ClassVar[str] = "file"
    task: ClassVar[type[SourceTask]] = FileSourceTask
    config: ClassVar[ConfigDef] = CONNECTOR

    def problems(self, config: Config) -> Iterable[Problem]:
        return [*_contradictions(config), *_find(config, remote=False).problems]

    def check(self, config: Config) -> Iterable[Problem]:
        try:
            return _find(config).problems
        except ConfigError as error:
            return error.problems

    def start(self, config: Config, context: SourceConnectorContext) -> None:
        self._config, self._context = config, context
        self._seen: frozenset[tuple[str, int]] | None = None

    def watch(self) -> float | None:
        pause: float = self._config["file.poll.interval.ms"] / 1000
        found = _find(self._config, may_be_none=True)
        if found.problems:
            raise ConfigError(*found.problems)
        files = frozenset(discovery.identified(found.paths))
        # Files that have gone need no other tasks; one that has come back under its old name may have none.
        if self._seen is not None and not files <= self._seen:
            self._context.request_task_reconfiguration()
        self._seen = files
        return pause

    def task_configs(self, config: Config, max_tasks: int) -> Sequence[Mapping[str, str]]:
        found = _find(config)
        if found.problems:
            raise ConfigError(*found.problems)
        shares = min(max_tasks, len(found.paths))
        return [task_properties(config, found.paths[share::shares]) for share in range(shares)]

    def exactly_once_support(self, config: Config) -> ExactlyOnceSupport:
        return ExactlyOnceSupport.SUPPORTED

    def transaction_boundaries(self, config: Config) -> ConnectorTransactionBoundaries:
        return ConnectorTransactionBoundaries.UNSUPPORTED

    def alter_offsets(self, config: Config, offsets: Sequence[tuple[SourcePartition, SourceOffset | None]]) -> bool:
        for partition, offset in offsets:
            if offset is not None:
                _check_offset(partition, offset)
        return True


class FileStreamSourceConnector(FileSourceConnector):
    """Reads files as `file` does, and gives lines as strings with a schema (Kafka's `FileStreamSourceConnector`)."""

    name: ClassVar[str] = "FileStreamSource"
    aliases: ClassVar[tuple[str, ...]] = (
        "org.apache.kafka.connect.file.FileStreamSourceConnector",
        "FileStreamSourceConnector",
    )
    task: ClassVar[type[SourceTask]] = FileStreamSourceTask


def _find(config: Config, *, may_be_none: bool = False, remote: bool = True) -> discovery.FoundFiles:
    keeps, folder = config["after.commit"] == "keep", completed_folder(config)
    systems = FileSystems(config["storage.options"]) if remote else None
    follows = config["rotation"] == "follow"
    may_be_none = may_be_none or not keeps
    found = discovery.find(config["file"], systems, completed=folder, may_be_none=may_be_none, rotates=follows)
    if keeps:
        return found
    return replace(found, problems=[*found.problems, *discovery.immovable(found.paths, folder)])


def _contradictions(config: Config) -> Iterator[Problem]:
    action, folder = config["after.commit"], completed_folder(config)
    if action == "move" and folder is None:
        yield Problem("after.commit.folder", "after.commit = move needs it; name the folder for files that were read")
    if action != "move" and folder is not None:
        yield Problem("after.commit.folder", f"it has no meaning with after.commit = {action}; remove it, or say move")
    yield from _problems_of_urls(config)
    yield from _problems_of_format(config)
    yield from _problems_of_rotation(config)
    if folder is not None and os.path.lexists(folder) and not os.path.isdir(folder):
        yield Problem("after.commit.folder", f"{folder} is no folder; name one")
    if folder is not None and any(os.path.abspath(one) == folder for one in discovery.items(config["file"])):
        yield Problem("after.commit.folder", f"{folder} is what is read; name another folder for files that were read")


def _problems_of_rotation(config: Config) -> Iterator[Problem]:
    if config["rotation"] == "fail":
        return
    if config["after.commit"] != "keep":
        yield Problem(
            "rotation", "a file that is followed is never done with; say after.commit = keep, or rotation = fail"
        )
    if config["format"] in COLUMN_FORMATS:
        yield Problem("rotation", f"files of format = {config['format']} are written once; say rotation = fail")
    if any(map(is_url, discovery.items(config["file"]))):
        yield Problem("rotation", "rotation is followed by inodes, which files of URLs have not; say rotation = fail")


def _problems_of_format(config: Config) -> Iterator[Problem]:
    kind, columns = config["format"], config["format"] in COLUMN_FORMATS
    if columns and find_spec("pyarrow") is None:
        yield Problem("format", f"{kind} needs a library: pip install 'eosfw-file[arrow]'")
    given = [name for name in ("value.schema", "value.schema.file") if config[name] is not None]
    if len(given) == 2:
        yield Problem("value.schema", "value.schema.file gives the schema, too; remove one of them")
    elif given and kind != "jsonl":
        yield Problem(given[0], f"it has no meaning with format = {kind}; remove it, or say jsonl")
    elif given:
        yield from _problems_of_schema(config)
    if config["timestamp.timezone"] is not None and not columns:
        yield Problem("timestamp.timezone", f"it has no meaning with format = {kind}; remove it")


def _problems_of_schema(config: Config) -> Iterable[Problem]:
    try:
        value_schema(config)
    except ConfigError as error:
        return error.problems
    return ()


def _problems_of_urls(config: Config) -> Iterator[Problem]:
    systems = FileSystems(config["storage.options"])
    for item in filter(is_url, discovery.items(config["file"])):
        if (what := url_problem(item)) is not None:
            yield Problem("file", what)
            continue
        try:
            systems.location(item)
        except ConfigError as error:
            yield from error.problems
        except RetriableError:  # some connect at once: tasks will ask again
            continue


def _check_offset(partition: SourcePartition, offset: SourceOffset) -> None:
    """Refuse an offset that no task could resume from, in the words of Kafka's `FileStreamSourceConnector`."""
    if not isinstance(partition.get("filename"), str):
        raise BadRequestError("Partition objects should contain the key 'filename'")
    part = next((name for name in PARTS if name in offset), None)
    if part is None:
        _check_position(offset)
    else:
        _check_row(offset, part)
    if not isinstance(offset.get("id"), str | None):
        raise BadRequestError("The value for the 'id' key in the offset is expected to be a text")


def _check_position(offset: SourceOffset) -> None:
    if "position" not in offset:
        raise BadRequestError("Offset objects should either be null or contain the key 'position'")
    position = offset["position"]
    if not isinstance(position, int) or isinstance(position, bool):
        raise BadRequestError("The value for the 'position' key in the offset is expected to be a Long value")
    if position < 0:
        raise BadRequestError("The value for the 'position' key in the offset should be a non-negative value")


def _check_row(offset: SourceOffset, part: str) -> None:
    for name in (part, "row"):
        number = offset.get(name)
        if not isinstance(number, int) or isinstance(number, bool) or number < 0:
            raise BadRequestError(f"The value for the '{name}' key in the offset is expected to be a whole number")
