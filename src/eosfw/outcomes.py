"""Calls for many names, where the failure of one does not keep the others from being made."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from eosfw.errors import EosfwError

__all__ = ["outcomes"]


def outcomes(names: Iterable[str], call: Callable[[str], object]) -> Mapping[str, EosfwError | None]:
    """Call for each name; the error that the call raised, or None."""
    found: dict[str, EosfwError | None] = {}
    for name in dict.fromkeys(names):
        try:
            call(name)
            found[name] = None
        except EosfwError as why:
            found[name] = why
    return found
