"""Which producers the leader must fence for a new generation of tasks (KIP-618)."""

from __future__ import annotations

from enum import Enum

from eosfw.ids import ConnectorTaskId, task_transactional_id
from eosfw.state.config_log import ConnectorEntry


class FencingPlan(Enum):
    """What the leader must do for a fencing request."""

    NOTHING = "nothing"
    RECORD_ONLY = "record-only"
    FENCE = "fence"


def plan_fencing(seen: ConnectorEntry) -> FencingPlan:
    """The plan for a fencing request, by the config topic (`DistributedHerder.fenceZombieSourceTasks`)."""
    if not seen.pending_fencing:
        return FencingPlan.NOTHING
    # The only task before and the only task now share a transactional id, so its init_transactions fences.
    lone = seen.task_count_record == len(seen.tasks) == 1
    # Connect writes a task count of 0 when it alters the offsets of a stopped connector: then nothing is to fence.
    return FencingPlan.RECORD_ONLY if lone or not seen.task_count_record else FencingPlan.FENCE


def ids_to_fence(group_id: str, connector: str, seen: ConnectorEntry) -> tuple[str, ...]:
    """The transactional ids that producers of earlier generations may still hold."""
    old = seen.task_count_record or 0
    return tuple(task_transactional_id(group_id, ConnectorTaskId(connector, number)) for number in range(old))
