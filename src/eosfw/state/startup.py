"""Decide at each check of a task's start whether it may go on (KIP-618, FEN-09..11)."""

from __future__ import annotations

from enum import Enum

from eosfw.state.config_log import ConnectorEntry


class Standing(Enum):
    """How a task of some generation stands to what the config log says now."""

    OWNER = "owner"
    SUPERSEDED = "superseded"
    """Newer task configurations took force, or the connector is gone: a successor comes, or nobody should."""
    UNASSIGNED = "unassigned"
    """The generation is current, but the task went to somebody else."""
    UNFENCED = "unfenced"
    """The task count record behind the newest task configurations is missing: zombies may still be at work."""


def standing(seen: ConnectorEntry, generation: int, *, assigned: bool) -> Standing:
    """Tell how a task that was started for `generation` stands; without a deletion an equal generation owns."""
    if seen.properties is None or seen.generation != generation:
        return Standing.SUPERSEDED
    return Standing.OWNER if assigned else Standing.UNASSIGNED


def standing_before_init(seen: ConnectorEntry, generation: int, *, assigned: bool) -> Standing:
    """The check before a producer is initialised: also the task count record must be behind the task configs."""
    now = standing(seen, generation, assigned=assigned)
    return Standing.UNFENCED if now is Standing.OWNER and seen.pending_fencing else now
