"""The connector `sql`, which splits the tables of a database over its tasks."""

from __future__ import annotations

import logging
import re
from contextlib import closing
from typing import TYPE_CHECKING, ClassVar

from eosfw.connectors import ConnectorTransactionBoundaries, ExactlyOnceSupport, SourceConnector
from eosfw.errors import BadRequestError, ConfigError, DamagedDataError, Problem
from eosfw_sql.database import Database
from eosfw_sql.modes.columns import position_of
from eosfw_sql.modes.offset_check import check_offset
from eosfw_sql.properties import CONNECTOR, TASK, task_properties
from eosfw_sql.table_selection import selected_tables, unmatched_patterns
from eosfw_sql.tables import source_partition, source_table
from eosfw_sql.task import SqlSourceTask

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from eosfw.config import Config, ConfigDef
    from eosfw.connectors import SourceConnectorContext, SourceTask
    from eosfw.records import SourceOffset, SourcePartition

logger = logging.getLogger(__name__)

_SELECTION = ("table.whitelist", "table.include.list", "table.blacklist", "schema.pattern", "catalog.pattern")


class SqlSourceConnector(SourceConnector):
    """Polls the tables of a database, with the properties of Confluent's JDBC source."""

    name: ClassVar[str] = "sql"
    aliases: ClassVar[tuple[str, ...]] = ("io.confluent.connect.jdbc.JdbcSourceConnector", "JdbcSourceConnector")
    task: ClassVar[type[SourceTask]] = SqlSourceTask
    config: ClassVar[ConfigDef] = CONNECTOR

    def problems(self, config: Config) -> Iterable[Problem]:
        if "timestamp" in config["mode"] and not config["timestamp.column.name"]:
            yield Problem("timestamp.column.name", f"mode {config['mode']} needs it; name a column of type TIMESTAMP")
        if config["table.whitelist"] and (config["table.include.list"] or config["table.blacklist"]):
            yield Problem("table.whitelist", "it names the tables; remove table.include.list and table.blacklist")
        chosen = [name for name in _SELECTION if config[name]]
        if config["query"] and chosen:
            yield Problem("query", f"it names what is read; remove {' and '.join(chosen)}")
        for one in config["table.include.list"]:
            try:
                re.compile(one)
            except re.error as error:
                yield Problem("table.include.list", f"{one!r} is no regular expression: {error}")
        yield from _problems_of_url(config)

    def check(self, config: Config) -> Iterable[Problem]:
        with closing(Database(config)) as database:
            try:
                names = selected_tables(database, config)
            except ConfigError as error:
                return error.problems
            # A query has no name.
            found = [problem for name in names or [""] for problem in _problems_of_table(database, name, config)]
            return [*found, *_problems_of_names(database, config["table.whitelist"])]

    def alter_offsets(self, config: Config, offsets: Sequence[tuple[SourcePartition, SourceOffset | None]]) -> bool:
        """Refuse what no task could begin with; a task keeps its place nowhere else."""
        for partition, offset in offsets:
            if offset is None:  # also of a table that was read once: nobody else could tidy it up
                continue
            name = str(partition.get("table"))
            if partition != source_partition(config, name):
                raise BadRequestError(
                    'the source partition of a table is {"protocol": "1", "table": NAME}, that of a query is '
                    '{"query": "query"}'
                )
            named = config["table.whitelist"]
            if named and name not in named:
                raise BadRequestError(f"no task reads a table {name!r}; table.whitelist has {', '.join(named)}")
            try:
                check_offset(config["mode"], offset)
            except DamagedDataError as why:
                raise BadRequestError(str(why)) from None
        return True

    def start(self, config: Config, context: SourceConnectorContext) -> None:
        self._config, self._context = config, context
        self._seen: Sequence[str] | None = None
        self._unmatched: Sequence[str] = ()
        self._database = Database(config)

    def watch(self) -> float | None:
        pause: float = self._config["table.poll.interval.ms"] / 1000
        names = selected_tables(self._database, self._config)
        if self._seen is not None and names != self._seen:
            self._context.request_task_reconfiguration()
        self._seen = names
        self._warn(unmatched_patterns(self._config, names))
        return pause

    def stop(self) -> None:
        self._database.close()

    def _warn(self, unmatched: Sequence[str]) -> None:
        if unmatched and unmatched != self._unmatched:
            logger.warning(
                "table.include.list: no table of database %s is read by %s; correct it, or make the table",
                self._database.name,
                ", ".join(unmatched),
            )
        self._unmatched = unmatched

    def task_configs(self, config: Config, max_tasks: int) -> Sequence[Mapping[str, str]]:
        with closing(Database(config)) as database:
            names = selected_tables(database, config)
        if config["query"]:
            return [task_properties(config, ())]
        shares = min(max_tasks, len(names))
        return [task_properties(config, names[share::shares]) for share in range(shares)]

    def exactly_once_support(self, config: Config) -> ExactlyOnceSupport:
        return ExactlyOnceSupport.SUPPORTED

    def transaction_boundaries(self, config: Config) -> ConnectorTransactionBoundaries:
        return ConnectorTransactionBoundaries.UNSUPPORTED


def _problems_of_url(config: Config) -> Iterator[Problem]:
    try:
        Database(config).close()
    except ConfigError as error:
        yield from error.problems


def _problems_of_table(database: Database, name: str, config: Config) -> Iterable[Problem]:
    properties = TASK.parse(task_properties(config, [name]))
    try:
        table = source_table(database, name, properties)
        if config["mode"] != "bulk":
            position_of(table, properties, database.dialect, None)
    except ConfigError as error:
        return error.problems
    return ()


def _problems_of_names(database: Database, names: Sequence[str]) -> Iterator[Problem]:
    """Two names of one table, which would be read twice into one topic."""
    if len(names) < 2:
        return
    default = database.inspect(lambda inspector: inspector.default_schema_name)
    known: dict[tuple[str | None, str], str] = {}
    for name in names:
        schema, _, bare = name.rpartition(".")
        other = known.setdefault((schema or default, bare), name)
        if other != name:
            yield Problem("table.whitelist", f"{other} and {name} are one table; name it once")
