"""Decide at each check of a task's start whether it may go on (KIP-618, FEN-09..11)."""

from __future__ import annotations

from enum import Enum

from eosfw.state.config_log import ConnectorEntry


class TaskOwnership(Enum):
    """How a task of some generation stands to what the config log says now."""

    OWNER = "owner"
    SUPERSEDED = "superseded"
    """Newer task configurations took force, or the connector is gone: a successor comes, or nobody should."""
    UNASSIGNED = "unassigned"
    """The generation is current, but the task went to somebody else."""
    UNFENCED = "unfenced"
    """The task count record behind the newest task configurations is missing: zombies may still be at work."""


def task_ownership(seen: ConnectorEntry, generation: int, *, assigned: bool) -> TaskOwnership:
    """Tell how a task that was started for `generation` stands; without a deletion an equal generation owns."""
    if seen.properties is None or seen.generation != generation:
        return TaskOwnership.SUPERSEDED
    return TaskOwnership.OWNER if assigned else TaskOwnership.UNASSIGNED


def ownership_before_init(seen: ConnectorEntry, generation: int, *, assigned: bool) -> TaskOwnership:
    """The check before a producer is initialised: also the task count record must be behind the task configs."""
    now = task_ownership(seen, generation, assigned=assigned)
    return TaskOwnership.UNFENCED if now is TaskOwnership.OWNER and seen.pending_fencing else now
