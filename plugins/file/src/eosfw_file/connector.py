"""The file connector, which gives each file to exactly one task; Kafka's `FileStreamSourceConnector`."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from eosfw.connectors import ConnectorTransactionBoundaries, ExactlyOnceSupport, SourceConnector
from eosfw.errors import ConfigError
from eosfw_file import discovery
from eosfw_file.properties import CONNECTOR, task_properties
from eosfw_file.task import FileSourceTask

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from eosfw.config import Config, ConfigDef
    from eosfw.connectors import SourceTask
    from eosfw.errors import Problem


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
