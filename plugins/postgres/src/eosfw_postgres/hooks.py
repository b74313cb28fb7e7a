"""Offer the connector to the framework."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eosfw.hookspecs import hookimpl
from eosfw_postgres.connector import PostgresConnector
from eosfw_postgres.extract_new_record_state import ExtractNewRecordState

if TYPE_CHECKING:
    from collections.abc import Iterable

    from eosfw.connectors import SourceConnector
    from eosfw.protocols import Transformation


@hookimpl
def eosfw_connectors() -> Iterable[type[SourceConnector]]:
    """Offer `connector.class = postgres`, and Debezium's name for it."""
    return [PostgresConnector]


@hookimpl
def eosfw_transforms() -> Iterable[type[Transformation]]:
    """Offer `transforms.NAME.type = ExtractNewRecordState`, and Debezium's name for it."""
    return [ExtractNewRecordState]
