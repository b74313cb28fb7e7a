"""Offer the REST interface to the framework."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eosfw.hookspecs import PluginDesc, hookimpl

if TYPE_CHECKING:
    from collections.abc import Iterable


@hookimpl
def eosfw_rest_servers() -> Iterable[PluginDesc]:
    """Offer Kafka Connect's REST interface."""
    return [PluginDesc("eosfw_rest.server:ConnectRestServer", "connect")]
