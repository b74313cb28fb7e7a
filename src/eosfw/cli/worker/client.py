"""The client library of a worker."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eosfw.errors import ConfigError, Problem

if TYPE_CHECKING:
    from eosfw.protocols import Backend
    from eosfw.registry import Plugins


def backend_of(plugins: Plugins, name: str | None, where: str) -> type[Backend]:
    """The client that is named, or else the only one installed; ConfigError where several are."""
    installed = plugins.names("backend")
    if name is None and len(installed) != 1:
        found = f"installed: {', '.join(installed)}" if installed else "none is installed"
        raise ConfigError(Problem(where, f"name the client of the cluster with --backend; {found}"))
    return plugins.backend(installed[0] if name is None else name)
