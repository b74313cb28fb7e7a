"""Offer the connector to the framework."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eosfw.hookspecs import PluginDesc, hookimpl

if TYPE_CHECKING:
    from collections.abc import Iterable


@hookimpl
def eosfw_connectors() -> Iterable[PluginDesc]:
    """Offer `connector.class = http`."""
    return [PluginDesc("eosfw_http.connector:HttpSourceConnector", "http")]
