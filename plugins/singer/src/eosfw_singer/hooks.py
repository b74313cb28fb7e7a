"""Offer the connector to the framework."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eosfw.hookspecs import hookimpl
from eosfw_singer.connector import SingerSourceConnector

if TYPE_CHECKING:
    from collections.abc import Iterable

    from eosfw.connectors import SourceConnector


@hookimpl
def eosfw_connectors() -> Iterable[type[SourceConnector]]:
    """Offer `connector.class = singer`."""
    return [SingerSourceConnector]
