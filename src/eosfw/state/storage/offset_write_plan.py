"""In which order source offsets go to a connector's own offsets topic and to the worker's (KAFKA-15018)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from eosfw.records import SourceOffset, SourcePartition

OffsetChange = tuple[SourcePartition, SourceOffset | None]
"""A source partition with its new offset; None forgets it."""


@dataclass(frozen=True, slots=True)
class OffsetWritePlan:
    """The writes to the worker's topic around the commit, which writes every change to the connector's own topic."""

    before: Sequence[OffsetChange]
    """Forgotten offsets. A failure is reported, and nothing is committed: otherwise the offset in the worker's topic
    would come back once the connector's own topic has forgotten that it forgot it."""
    after: Sequence[OffsetChange]
    """Copies. A failure is counted; the next copy heals it."""
    forgotten_after: Sequence[OffsetChange]
    """Forgotten offsets that the worker's topic alone had. Before the commit they must stay, since a crash between the
    two would leave the offset nowhere, and the source would be read from its beginning."""


def plan_offset_writes(
    changes: Sequence[OffsetChange], key_of: Callable[[SourcePartition], str], own: Collection[str]
) -> OffsetWritePlan:
    """The plan for some changes; `own` has the keys of the partitions that the connector's own topic has."""
    forgotten = [change for change in changes if change[1] is None]
    return OffsetWritePlan(
        before=[change for change in forgotten if key_of(change[0]) in own],
        after=[change for change in changes if change[1] is not None],
        forgotten_after=[change for change in forgotten if key_of(change[0]) not in own],
    )
