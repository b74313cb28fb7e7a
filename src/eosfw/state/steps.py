"""Name every step of a task's start, of its transactions, of the leader's work (KIP-618).

A step is announced just before it is done, on the thread that does it; so whoever blocks the announcement of a step
freezes the task between the step before and this one. Names ending in `-ed` are outcomes, announced right after.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from eosfw.ids import ConnectorTaskId


class TaskStep(Enum):
    """What is about to happen, or has just happened."""

    # startup protocol, in order (FEN-09)
    REQUEST_FENCING = "request-fencing"
    CHECK_TASK_COUNT = "check-task-count"
    CHECK_OFFSETS_TOPIC = "check-offsets-topic"
    INIT_PRODUCER = "init-producer"
    READ_CONFIG = "read-config"
    CHECK_OWNERSHIP = "check-ownership"
    READ_OFFSETS = "read-offsets"
    START_TASK = "start-task"
    # one transaction, in order
    POLL = "poll"
    BEGIN = "begin"
    SEND = "send"
    SEND_OFFSETS = "send-offsets"
    COMMIT = "commit"
    COMMITTED = "committed"
    ABORT = "abort"
    ABORTED = "aborted"
    # how a task ends
    FENCED = "fenced"
    SUPERSEDED = "superseded"
    FAILED = "failed"
    STOPPED = "stopped"
    # the leader
    CLAIM_LEADERSHIP = "claim-leadership"
    WRITE_TASK_CONFIGS = "write-task-configs"
    FENCE_ZOMBIES = "fence-zombies"
    CHECK_GENERATION = "check-generation"
    WRITE_TASK_COUNT = "write-task-count"


STARTUP = tuple(TaskStep)[:8]
TRANSACTION = tuple(TaskStep)[8:13]


@dataclass(frozen=True, slots=True)
class StepEvent:
    """One step, told to observers. `at` is the runtime's monotonic clock in seconds; `wall` seconds since 1970."""

    step: TaskStep
    at: float
    wall: float
    connector: str
    task: ConnectorTaskId | None = None
    """None for what the leader does."""
    generation: int | None = None
    transactional_id: str | None = None
    transaction: int | None = None
    """Which transaction of this task's producer, from 1; None outside one."""
    detail: Mapping[str, object] = field(default_factory=dict)
    """Facts of this step: `records` (how many are sent or committed), `error` (its text), `ids`, `count`."""
