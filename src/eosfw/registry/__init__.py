"""The registry of plugins: loading, checks, look-up by role (Kafka Connect's `Plugins`)."""

from eosfw.registry.checks import contract_problem
from eosfw.registry.loading import load_plugins
from eosfw.registry.lookup import PluginFailure, PluginRow, Plugins

__all__ = ["PluginFailure", "PluginRow", "Plugins", "contract_problem", "load_plugins"]
