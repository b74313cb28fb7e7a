"""The assignors that members may ask for, by their names; the first is that of a group that asks for none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from eosfw_memory.server.coordinators.groups.modern.assignors.group_spec import Assignor, in_hash_map_order
from eosfw_memory.server.coordinators.groups.modern.assignors.range_assignor import assign_ranges
from eosfw_memory.server.coordinators.groups.modern.assignors.uniform_assignor import assign_uniformly

ASSIGNORS: Final[Mapping[str, Assignor]] = {"uniform": assign_uniformly, "range": assign_ranges}
DEFAULT_ASSIGNOR: Final = "uniform"


def preferred_assignor(wishes: Iterable[str | None]) -> str:
    """The assignor that most members ask for."""
    votes = Counter(wish for wish in wishes if wish is not None)
    if not votes:
        return DEFAULT_ASSIGNOR
    return max(in_hash_map_order(votes), key=votes.__getitem__)
