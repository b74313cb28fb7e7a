"""The connector `singer`, whose one task runs a tap."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from eosfw.connectors import ConnectorTransactionBoundaries, ExactlyOnceSupport, SourceConnector
from eosfw.errors import BadRequestError, ConfigError, Problem
from eosfw_singer.position import Position
from eosfw_singer.process import executable_of
from eosfw_singer.properties import CONNECTOR, task_properties
from eosfw_singer.repeats import Repeats
from eosfw_singer.task import SingerSourceTask

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from eosfw.config import Config, ConfigDef
    from eosfw.connectors import SourceTask
    from eosfw.records import SourceOffset, SourcePartition


class SingerSourceConnector(SourceConnector):
    """Runs a Singer tap again and again, and sends its rows."""

    name: ClassVar[str] = "singer"
    task: ClassVar[type[SourceTask]] = SingerSourceTask
    config: ClassVar[ConfigDef] = CONNECTOR

    def problems(self, config: Config) -> Iterable[Problem]:
        both = {name for name, _ in config["replication.keys"]} & set(config["full.table.streams"])
        if both:
            yield Problem("full.table.streams", f"replication.keys names {min(both)!r}, too; leave it out of one")

    def check(self, config: Config) -> Iterable[Problem]:
        try:
            executable_of(config["tap.command"])
        except ConfigError as error:
            return error.problems
        return ()

    def task_configs(self, config: Config, max_tasks: int) -> Sequence[Mapping[str, str]]:
        return [task_properties(config)]

    def alter_offsets(self, config: Config, offsets: Sequence[tuple[SourcePartition, SourceOffset | None]]) -> bool:
        """Refuse what no task could begin with; a task keeps its place nowhere else."""
        for partition, offset in offsets:
            if set(partition) != {"tap"}:
                raise BadRequestError(
                    'the source partition of a tap is {"tap": "NAME"}, with the name of its executable'
                )
            if offset is not None:
                place = Position.of(offset)
                Repeats(place.repeats, 0)
                if unknown := sorted(offset.keys() - place.offset.keys()):
                    raise BadRequestError(f"no task of this connector writes {unknown[0]!r} into a source offset")
        return True

    def exactly_once_support(self, config: Config) -> ExactlyOnceSupport:
        return ExactlyOnceSupport.SUPPORTED

    def transaction_boundaries(self, config: Config) -> ConnectorTransactionBoundaries:
        return ConnectorTransactionBoundaries.SUPPORTED
