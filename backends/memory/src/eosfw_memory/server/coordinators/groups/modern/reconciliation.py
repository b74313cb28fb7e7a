"""Lead one member to the target assignment, in steps that it confirms. Kafka's `CurrentAssignmentBuilder`.

A member gives up partitions first, keeping its epoch; it gets new ones with the epoch of the target assignment, and of
those only what no member has any more.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TypeAlias
from uuid import UUID

from eosfw_memory.server.coordinators.groups.modern.member import (
    Assignment,
    CurrentAssignment,
    MemberState,
    overlaps,
)

_NONE: frozenset[int] = frozenset()
_Choose: TypeAlias = Callable[[UUID, frozenset[int]], frozenset[int]]


def reconcile(
    current: CurrentAssignment,
    target_epoch: int,
    target: Assignment,
    taken: Mapping[UUID, Collection[int]],
    owned: Assignment | None,
) -> CurrentAssignment:
    """The next step of a member, or its current one when it has to wait.

    `taken` are the partitions that any member has, or has not given up; `owned` are those that the member reports with
    this heartbeat, None if it reports none.
    """
    state, epoch = current.state, current.member_epoch
    if state is MemberState.STABLE and epoch == target_epoch:
        return current
    if state is MemberState.UNREVOKED_PARTITIONS:
        if _still_owns(current.pending_revocation, owned):
            return current
        epoch += 1
    return _next(current, epoch, target_epoch, target, taken, owned)


def _next(
    current: CurrentAssignment,
    epoch: int,
    target_epoch: int,
    target: Assignment,
    taken: Mapping[UUID, Collection[int]],
    owned: Assignment | None,
) -> CurrentAssignment:
    kept = _each(current.assigned, lambda topic_id, had: had & target.get(topic_id, _NONE))
    revoked = _each(current.assigned, lambda topic_id, had: had - target.get(topic_id, _NONE))
    if revoked and _still_owns(revoked, owned):
        return CurrentAssignment(epoch, current.member_epoch, MemberState.UNREVOKED_PARTITIONS, kept, revoked)
    wanted = _each(target, lambda topic_id, shall: shall - kept.get(topic_id, _NONE))
    free = _each(wanted, lambda topic_id, shall: frozenset(n for n in shall if n not in taken.get(topic_id, _NONE)))
    assigned = {topic_id: kept.get(topic_id, _NONE) | free.get(topic_id, _NONE) for topic_id in {**kept, **free}}
    state = MemberState.STABLE if free == wanted else MemberState.UNRELEASED_PARTITIONS
    return CurrentAssignment(target_epoch, current.member_epoch, state, assigned)


def _still_owns(revoked: Assignment, owned: Assignment | None) -> bool:
    """Whether a member may still read what it has to give up; it does until it reports that it does not."""
    return owned is None or overlaps(owned, revoked)


def _each(partitions: Assignment, choose: _Choose) -> Assignment:
    chosen = {topic_id: choose(topic_id, some) for topic_id, some in partitions.items()}
    return {topic_id: some for topic_id, some in chosen.items() if some}
