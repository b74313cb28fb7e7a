"""Find plugins, check them, look them up by role."""

from eosfw.registry.loading import load_plugins
from eosfw.registry.lookup import PluginFailure, PluginRow, Plugins

__all__ = ["PluginFailure", "PluginRow", "Plugins", "load_plugins"]
