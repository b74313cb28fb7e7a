"""The plugins of this environment, loaded once."""

from __future__ import annotations

from functools import cache

from eosfw.registry import Plugins, load_plugins


@cache
def installed_plugins() -> Plugins:
    """The installed plugins."""
    return load_plugins()
