"""Which producers the leader must fence for a new generation of tasks (KIP-618)."""

from __future__ import annotations

from enum import Enum

from eosfw.ids import ConnectorTaskId, task_transactional_id
from eosfw.state.storage.config_log import ConnectorEntry


class FencingPlan(Enum):
    """What the leader must do for a fencing request."""

    NOTHING = "nothing"
    LONE_TASK = "lone-task"
    FIRST_TASKS = "first-tasks"
    FENCE = "fence"

    @property
    def skip_reason(self) -> str | None:
        """Why no producer is fenced, for the log; None if some are."""
        return _SKIP_REASONS.get(self)


_SKIP_REASONS = {
    FencingPlan.NOTHING: "its task count record is newer than its task configurations",
    FencingPlan.LONE_TASK: "its only task before and its only task now share a transactional id, so starting it fences",
    FencingPlan.FIRST_TASKS: "no task of it ran before",
}


def plan_fencing(seen: ConnectorEntry) -> FencingPlan:
    """The plan for a fencing request, by the config topic (`DistributedHerder.fenceZombieSourceTasks`)."""
    if not seen.pending_fencing:
        return FencingPlan.NOTHING
    # Connect writes a task count of 0 when it alters the offsets of a stopped connector: then nothing is to fence.
    if not seen.task_count_record:
        return FencingPlan.FIRST_TASKS
    lone = seen.task_count_record == len(seen.tasks) == 1
    return FencingPlan.LONE_TASK if lone else FencingPlan.FENCE


def ids_to_fence(group_id: str, connector: str, seen: ConnectorEntry) -> tuple[str, ...]:
    """The transactional ids that producers of earlier generations may still hold."""
    old = seen.task_count_record or 0
    return tuple(task_transactional_id(group_id, ConnectorTaskId(connector, number)) for number in range(old))
