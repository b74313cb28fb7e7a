"""Offer the connector to the framework."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eosfw.hookspecs import PluginDesc, hookimpl

if TYPE_CHECKING:
    from collections.abc import Iterable


@hookimpl
def eosfw_connectors() -> Iterable[PluginDesc]:
    """Offer `connector.class = sql`, and Confluent's name for it."""
    return [
        PluginDesc(
            "eosfw_sql.connector:SqlSourceConnector",
            "sql",
            ("io.confluent.connect.jdbc.JdbcSourceConnector", "JdbcSourceConnector"),
        )
    ]
