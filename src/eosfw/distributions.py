"""The installed distributions, read one by one, so that broken metadata of one is named and hides no other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

from eosfw.errors import with_class


class DistributionInfo(NamedTuple):
    """Name and version of a distribution; `?` for what its metadata does not tell."""

    name: str
    version: str


@dataclass(frozen=True, slots=True)
class InstalledEntryPoint:
    """An entry point and the distribution that has it."""

    name: str
    dist: DistributionInfo
    entry_point: metadata.EntryPoint

    def load(self) -> Any:
        """Import the object that it names."""
        return self.entry_point.load()


class UnreadableDistribution(NamedTuple):
    """A distribution whose metadata cannot be used."""

    name: str
    reason: str


def installed_entry_points(group: str) -> tuple[list[InstalledEntryPoint], list[UnreadableDistribution]]:
    """The entry points of a group, and the distributions whose metadata cannot be read."""
    found: list[InstalledEntryPoint] = []
    unreadable: list[UnreadableDistribution] = []
    for name, distribution in _distributions():
        try:
            offered = [one for one in distribution.entry_points if one.group == group]
            owner = DistributionInfo(name, _version(distribution)) if offered else None
        except Exception as error:  # noqa: BLE001 (whatever a file holds, the others count)
            unreadable.append(UnreadableDistribution(name, f"its entry points cannot be read: {with_class(error)}"))
            continue
        found += [InstalledEntryPoint(one.name, owner, one) for one in offered if owner is not None]
    return found, unreadable


def extras() -> list[str]:
    """The names of the extras of eosfw: `pip install 'eosfw[NAME]'`."""
    try:
        return sorted(metadata.metadata("eosfw").get_all("Provides-Extra") or ())
    except metadata.PackageNotFoundError:
        return []


def version(name: str) -> str | None:
    """The version of a distribution; None if it is not installed, `?` if its metadata does not tell."""
    try:
        return _version(metadata.distribution(name))
    except metadata.PackageNotFoundError:
        return None


def requirements(name: str) -> list[str]:
    """The requirements of a distribution as its metadata has them; empty if they cannot be read."""
    try:
        return metadata.requires(name) or []
    except Exception:  # noqa: BLE001 (its version says already that its metadata is damaged)
        return []


def needed_python() -> str:
    """The versions of Python that eosfw needs, as a specifier."""
    try:
        return "".join(metadata.metadata("eosfw").get_all("Requires-Python") or ())
    except metadata.PackageNotFoundError:
        return ""


def _distributions() -> Iterator[tuple[str, metadata.Distribution]]:
    seen = set()
    for distribution in metadata.distributions():
        name = _name(distribution)
        if name.lower() not in seen:  # as Python's import does, the first on the path wins
            seen.add(name.lower())
            yield name, distribution


def _name(distribution: metadata.Distribution) -> str:
    # The folder says the name without reading a file; it is all there is when the file is missing.
    folder = vars(distribution).get("_path")
    if folder is not None and Path(str(folder)).suffix in (".dist-info", ".egg-info"):
        return Path(str(folder)).stem.partition("-")[0].replace("_", "-")
    try:
        return str(distribution.metadata["Name"])
    except Exception:  # noqa: BLE001 (its name is not worth an end)
        return "?"


def _version(distribution: metadata.Distribution) -> str:
    try:
        return distribution.version or "?"
    except Exception:  # noqa: BLE001 (3.11 raises what its parser happens to)
        return "?"
