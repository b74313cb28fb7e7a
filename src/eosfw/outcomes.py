"""Make a call for each of many names, so that one that fails spoils no other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from eosfw.errors import EosfwError

__all__ = ["outcomes"]


def outcomes(names: Iterable[str], call: Callable[[str], object]) -> Mapping[str, EosfwError | None]:
    """What became of each name: None, or the error that its call raised."""
    found: dict[str, EosfwError | None] = {}
    for name in dict.fromkeys(names):
        try:
            call(name)
            found[name] = None
        except EosfwError as why:
            found[name] = why
    return found
