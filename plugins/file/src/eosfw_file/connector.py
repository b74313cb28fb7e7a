"""The file connectors, which give each file to exactly one task."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from eosfw.connectors import ConnectorTransactionBoundaries, ExactlyOnceSupport, SourceConnector
from eosfw.errors import BadRequestError, ConfigError
from eosfw_file.files import discovery
from eosfw_file.properties import CONNECTOR, task_properties
from eosfw_file.task import FileSourceTask, FileStreamSourceTask

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from eosfw.config import Config, ConfigDef
    from eosfw.connectors import SourceTask
    from eosfw.errors import Problem
    from eosfw.records import SourceOffset, SourcePartition


class FileSourceConnector(SourceConnector):
    """Reads files line by line, exactly once; new files of a folder or glob are found when the connector restarts."""

    name: ClassVar[str] = "file"
    task: ClassVar[type[SourceTask]] = FileSourceTask
    config: ClassVar[ConfigDef] = CONNECTOR

    def problems(self, config: Config) -> Iterable[Problem]:
        return discovery.find(config["file"]).problems

    def task_configs(self, config: Config, max_tasks: int) -> Sequence[Mapping[str, str]]:
        found = discovery.find(config["file"])
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


def _check_offset(partition: SourcePartition, offset: SourceOffset) -> None:
    """Refuse an offset that no task could resume from, in the words of Kafka's `FileStreamSourceConnector`."""
    if not isinstance(partition.get("filename"), str):
        raise BadRequestError("Partition objects should contain the key 'filename'")
    if "position" not in offset:
        raise BadRequestError("Offset objects should either be null or contain the key 'position'")
    position = offset["position"]
    if not isinstance(position, int) or isinstance(position, bool):
        raise BadRequestError("The value for the 'position' key in the offset is expected to be a Long value")
    if position < 0:
        raise BadRequestError("The value for the 'position' key in the offset should be a non-negative value")
    if not isinstance(offset.get("id"), str | None):
        raise BadRequestError("The value for the 'id' key in the offset is expected to be a text")
