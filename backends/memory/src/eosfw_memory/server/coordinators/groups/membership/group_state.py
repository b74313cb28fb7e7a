"""The states of a group, the moves between them, and what each state answers to its members.

Kafka's `ClassicGroupState`.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from eosfw_memory.common.codes import Code


class GroupState(Enum):
    """Where a group stands; the values are the names that DescribeGroups shows."""

    EMPTY = "Empty"
    """No members; offsets may be there."""
    PREPARING_REBALANCE = "PreparingRebalance"
    """Members are expected to join."""
    COMPLETING_REBALANCE = "CompletingRebalance"
    """All have joined; the leader's assignment is awaited."""
    STABLE = "Stable"
    """Every member has, or may fetch, its assignment."""
    DEAD = "Dead"
    """Deleted: what DescribeGroups shows of a group that is not there."""

    __hash__ = object.__hash__  # Python's own for enumerations is not written in C


_S = GroupState

PREDECESSORS: Mapping[GroupState, frozenset[GroupState]] = {
    _S.EMPTY: frozenset({_S.PREPARING_REBALANCE}),
    _S.PREPARING_REBALANCE: frozenset({_S.EMPTY, _S.COMPLETING_REBALANCE, _S.STABLE}),
    _S.COMPLETING_REBALANCE: frozenset({_S.PREPARING_REBALANCE}),
    _S.STABLE: frozenset({_S.COMPLETING_REBALANCE}),
}
"""From which states each state may be entered."""

# A group that is deleted is out of reach at once, so no member meets it as Dead.
HEARTBEAT_OR_SYNC: Mapping[GroupState, Code] = {
    _S.EMPTY: Code.UNKNOWN_MEMBER_ID,
    _S.PREPARING_REBALANCE: Code.REBALANCE_IN_PROGRESS,
    _S.COMPLETING_REBALANCE: Code.NONE,
    _S.STABLE: Code.NONE,
}
"""The answer to Heartbeat and SyncGroup of a member of the current generation; that to SyncGroup may be delayed."""


class IllegalGroupTransitionError(Exception):
    """A group was asked to move where Kafka's state machine does not lead."""

    def __init__(self, state: GroupState, target: GroupState) -> None:
        super().__init__(f"a group in state {state.value} cannot move to {target.value}")
        self.state = state
        self.target = target


def advance(state: GroupState, target: GroupState) -> GroupState:
    """Give the target if it may be entered from here, else raise."""
    if state not in PREDECESSORS[target]:
        raise IllegalGroupTransitionError(state, target)
    return target
