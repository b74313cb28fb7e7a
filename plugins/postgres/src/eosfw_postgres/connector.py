"""The connector `postgres`, whose one task reads a replication slot."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from eosfw.connectors import ConnectorTransactionBoundaries, ExactlyOnceSupport, SourceConnector
from eosfw_postgres.checks import problems_of
from eosfw_postgres.connection import Database
from eosfw_postgres.properties import CONNECTOR, task_properties
from eosfw_postgres.task import PostgresTask

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from eosfw.config import Config, ConfigDef
    from eosfw.connectors import SourceTask
    from eosfw.errors import Problem


class PostgresConnector(SourceConnector):
    """Reads the changes of a PostgreSQL by logical replication, with Debezium's properties and records."""

    name: ClassVar[str] = "postgres"
    aliases: ClassVar[tuple[str, ...]] = ("io.debezium.connector.postgresql.PostgresConnector", "PostgresConnector")
    task: ClassVar[type[SourceTask]] = PostgresTask
    config: ClassVar[ConfigDef] = CONNECTOR

    def check(self, config: Config) -> Iterable[Problem]:
        return problems_of(Database.of(config, "eosfw"), config)

    def task_configs(self, config: Config, max_tasks: int) -> Sequence[Mapping[str, str]]:
        return [task_properties(config)]

    def exactly_once_support(self, config: Config) -> ExactlyOnceSupport:
        return ExactlyOnceSupport.SUPPORTED

    def transaction_boundaries(self, config: Config) -> ConnectorTransactionBoundaries:
        return ConnectorTransactionBoundaries.SUPPORTED
