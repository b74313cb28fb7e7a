"""The refusal of names that an installed connector or distribution has already."""

from __future__ import annotations

from importlib import metadata

from eosfw.cli.new.project_names import ProjectNames
from eosfw.errors import PluginError


def refuse_name_conflicts(names: ProjectNames) -> None:
    """Raise PluginError if the name is that of an installed connector, of a distribution, or of a part of eosfw."""
    holder = _connector(names.name) or _distribution(names.distribution) or _part(names)
    if holder:
        raise PluginError(f"the name {names.name!r} is taken: {holder}. Choose another one.")


def _connector(name: str) -> str | None:
    from eosfw.registry import load_plugins

    rows = (row for row in load_plugins().all() if (row.role, row.name) == ("connector", name))
    return next((f"{row.distribution} {row.version} offers a connector of that name" for row in rows), None)


def _distribution(name: str) -> str | None:
    try:
        return f"{name} {metadata.version(name)} is installed"
    except metadata.PackageNotFoundError:
        return None


def _part(names: ProjectNames) -> str | None:
    parts = metadata.metadata("eosfw").get_all("Provides-Extra") or []
    return f"{names.distribution} is a part of eosfw" if names.name in parts else None
