"""Whether a task still owns its share, at each check of its start (KIP-618, FEN-09..11)."""

from __future__ import annotations

from enum import Enum

from eosfw.state.storage.config_log import ConnectorEntry


class TaskOwnership(Enum):
    """What the config topic says now about a task of some generation."""

    OWNER = "owner"
    SUPERSEDED = "superseded"
    """There is a newer generation, or the connector was deleted."""
    UNASSIGNED = "unassigned"
    """The generation is the newest, but the task is assigned to another worker."""
    UNFENCED = "unfenced"
    """No task count record follows the newest task configurations: zombies may still write."""


def task_ownership(seen: ConnectorEntry, generation: int, *, assigned: bool) -> TaskOwnership:
    """The ownership of a task of `generation`."""
    if not seen.has_generation(generation):
        return TaskOwnership.SUPERSEDED
    return TaskOwnership.OWNER if assigned else TaskOwnership.UNASSIGNED


def ownership_before_init(seen: ConnectorEntry, generation: int, *, assigned: bool) -> TaskOwnership:
    """The ownership before a producer is initialised: then the task count record must be written as well."""
    now = task_ownership(seen, generation, assigned=assigned)
    return TaskOwnership.UNFENCED if now is TaskOwnership.OWNER and seen.pending_fencing else now
