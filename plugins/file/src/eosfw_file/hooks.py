"""Offer the connectors to the framework."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eosfw.hookspecs import PluginDesc, hookimpl

if TYPE_CHECKING:
    from collections.abc import Iterable


@hookimpl
def eosfw_connectors() -> Iterable[PluginDesc]:
    """Offer `connector.class = file`, and Kafka's name for it."""
    return [
        PluginDesc("eosfw_file.connector:FileSourceConnector", "file"),
        PluginDesc(
            "eosfw_file.connector:FileStreamSourceConnector",
            "FileStreamSource",
            ("org.apache.kafka.connect.file.FileStreamSourceConnector", "FileStreamSourceConnector"),
        ),
    ]
