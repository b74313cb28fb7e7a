"""The distributions that a Python process has; runs on executors that may lack eosfw, so it imports nothing of it."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version


def installed_versions(wanted: Iterable[Iterable[str]]) -> Iterator[tuple[str, Mapping[str, str | None]]]:
    """This machine's name, and each distribution's version, or None where it lacks."""
    for distributions in wanted:
        yield platform.node(), {name: _version(name) for name in distributions}


def _version(distribution: str) -> str | None:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None
