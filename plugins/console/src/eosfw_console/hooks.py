"""Offer the console to the framework."""

from __future__ import annotations

from collections.abc import Iterable

from eosfw.hookspecs import hookimpl
from eosfw.protocols import RestExtension
from eosfw_console.extension import Console


@hookimpl
def eosfw_rest_extensions() -> Iterable[type[RestExtension]]:
    """Offer the console."""
    return [Console]
