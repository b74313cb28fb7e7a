"""Offer the REST interface to the framework."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eosfw.hookspecs import hookimpl
from eosfw_rest.server import ConnectRestServer

if TYPE_CHECKING:
    from collections.abc import Iterable

    from eosfw.protocols import RestServer


@hookimpl
def eosfw_rest_servers() -> Iterable[type[RestServer]]:
    """Offer Kafka Connect's REST interface."""
    return [ConnectRestServer]
