"""Offer the connector to the framework."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eosfw.hookspecs import PluginDesc, hookimpl

if TYPE_CHECKING:
    from collections.abc import Iterable


@hookimpl
def eosfw_connectors() -> Iterable[PluginDesc]:
    """Offer `connector.class = postgres`, and Debezium's name for it."""
    return [
        PluginDesc(
            "eosfw_postgres.connector:PostgresConnector",
            "postgres",
            ("io.debezium.connector.postgresql.PostgresConnector", "PostgresConnector"),
        )
    ]


@hookimpl
def eosfw_transforms() -> Iterable[PluginDesc]:
    """Offer `transforms.NAME.type = ExtractNewRecordState`, and Debezium's name for it."""
    return [
        PluginDesc(
            "eosfw_postgres.extract_new_record_state:ExtractNewRecordState",
            "ExtractNewRecordState",
            ("io.debezium.transforms.ExtractNewRecordState",),
        )
    ]
