"""Decide which producers a new generation of tasks must shut out (KIP-618)."""

from __future__ import annotations

from enum import Enum

from eosfw.ids import ConnectorTaskId, task_transactional_id
from eosfw.state.config_log import ConnectorEntry


class FencingPlan(Enum):
    """What a fencing request asks the leader to do."""

    NOTHING = "nothing"
    RECORD_ONLY = "record-only"
    FENCE = "fence"


def plan_fencing(seen: ConnectorEntry) -> FencingPlan:
    """Choose the fencing round that the config log calls for."""
    if not seen.pending_fencing:
        return FencingPlan.NOTHING
    # Old and new lone task share one transactional id, so initialising fences by itself.
    lone = seen.task_count_record == len(seen.tasks) == 1
    # Connect records 0 when it alters the offsets of a stopped connector: a round without a producer to shut out.
    return FencingPlan.RECORD_ONLY if lone or not seen.task_count_record else FencingPlan.FENCE


def ids_to_fence(group_id: str, connector: str, seen: ConnectorEntry) -> tuple[str, ...]:
    """The transactional ids that producers of earlier generations may still hold."""
    old = seen.task_count_record or 0
    return tuple(task_transactional_id(group_id, ConnectorTaskId(connector, number)) for number in range(old))
