"""Whether the workers of a group agree on exactly-once support (KIP-618's rolling upgrades)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GroupSupport:
    """What the modes of all workers together permit."""

    excluded: frozenset[str] = frozenset()
    """The workers that get no tasks and do not lead."""
    problem: str | None = None
    mixture: str | None = None
    """What modes there are, if they differ as in a rolling upgrade."""


def group_support(modes: Mapping[str, str]) -> GroupSupport:
    """Judge the `exactly.once.source.support` of each worker, by its name.

    `disabled` beside `preparing`, and `preparing` beside `enabled`, are the two rolling upgrades of KIP-618. A worker
    that is `disabled` beside one that is `enabled` fences nobody and would write unfenced: it waits until the last one
    of these is gone.
    """
    by_mode = {wanted: sorted(name for name, mode in modes.items() if mode == wanted) for wanted in modes.values()}
    disabled, enabled = by_mode.get("disabled", []), by_mode.get("enabled", [])
    if not (disabled and enabled):
        each = [f"{mode} in {', '.join(names)}" for mode, names in sorted(by_mode.items())]
        if len(each) < 2:
            return GroupSupport()
        mixture = f"exactly.once.source.support is {' and '.join(each)}: a rolling upgrade is under way"
        return GroupSupport(mixture=mixture)
    return GroupSupport(
        frozenset(disabled),
        f"exactly.once.source.support is disabled in {', '.join(disabled)} and enabled in {', '.join(enabled)}: "
        f"without transactions the former would write what cannot be fenced, so they get no tasks and do not lead. "
        f"Restart them with preparing or enabled",
    )
