"""Load the plugins of this environment once."""

from __future__ import annotations

from functools import cache

from eosfw.registry import Plugins, load_plugins


@cache
def installed_plugins() -> Plugins:
    """Everything that is installed, by role."""
    return load_plugins()
