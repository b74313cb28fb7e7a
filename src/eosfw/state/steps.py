"""The steps of tasks, of the leader and of Spark's micro-batches, which observers hear of (KIP-618).

A step is announced just before it is done, on the thread that does it. So an observer that blocks freezes the task
between two steps. Steps whose names end in `-ed` are outcomes, announced right afterwards. A commit that overlaps the
next poll (`transaction.commit.overlap`) has a thread of its own, so COMMIT and COMMITTED may come after that POLL.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum

from eosfw.ids import ConnectorTaskId


class TaskStep(Enum):
    """A step that is about to happen, or an outcome that has just happened."""

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
    # a pause (KIP-52)
    PAUSED = "paused"
    RESUMED = "resumed"
    # how a task ends
    FENCED = "fenced"
    SUPERSEDED = "superseded"
    FAILED = "failed"
    STOPPED = "stopped"
    # a group of several workers (KIP-415)
    PUBLISH_ASSIGNMENT = "publish-assignment"
    ACKNOWLEDGE_ASSIGNMENT = "acknowledge-assignment"
    # the leader
    CLAIM_LEADERSHIP = "claim-leadership"
    WRITE_TASK_CONFIGS = "write-task-configs"
    FENCE_ZOMBIES = "fence-zombies"
    CHECK_GENERATION = "check-generation"
    WRITE_TASK_COUNT = "write-task-count"
    # one micro-batch of a Spark query, in order; the query stands for the connector, the batch for the transaction
    PLAN_BATCH = "batch:plan"
    READ_BATCH = "batch:read"
    WRITE_BATCH = "batch:write"
    STAGED_BATCH = "batch:staged"
    FENCE_BATCH = "batch:fence"
    READ_TOKEN = "batch:read-token"  # noqa: S105 - a step, no secret
    PUBLISH_BATCH = "batch:publish"
    COMMIT_BATCH = "batch:commit"
    COMMITTED_BATCH = "batch:committed"


STARTUP = (
    TaskStep.REQUEST_FENCING,
    TaskStep.CHECK_TASK_COUNT,
    TaskStep.CHECK_OFFSETS_TOPIC,
    TaskStep.INIT_PRODUCER,
    TaskStep.READ_CONFIG,
    TaskStep.CHECK_OWNERSHIP,
    TaskStep.READ_OFFSETS,
    TaskStep.START_TASK,
)
TRANSACTION = (TaskStep.POLL, TaskStep.BEGIN, TaskStep.SEND, TaskStep.SEND_OFFSETS, TaskStep.COMMIT)
LEADER = (
    TaskStep.PUBLISH_ASSIGNMENT,
    TaskStep.CLAIM_LEADERSHIP,
    TaskStep.WRITE_TASK_CONFIGS,
    TaskStep.FENCE_ZOMBIES,
    TaskStep.CHECK_GENERATION,
    TaskStep.WRITE_TASK_COUNT,
)
MICRO_BATCH = tuple(step for step in TaskStep if step.value.startswith("batch:"))


@dataclass(frozen=True, slots=True)
class StepEvent:
    """One step, for observers. `at` is the runtime's monotonic clock in seconds; `wall` is in seconds since 1970."""

    step: TaskStep
    at: float
    wall: float
    connector: str
    task: ConnectorTaskId | None = None
    """None for a step of the leader."""
    generation: int | None = None
    transactional_id: str | None = None
    transaction: int | None = None
    """The number of the transaction of this task's producer, from 1; None outside a transaction."""
    detail: Mapping[str, object] = field(default_factory=dict)
    """More about the step: `records` (how many are sent or committed), `error` (its text), `ids`, `count`."""


Announce = Callable[[StepEvent], None]
"""Tells observers of a step; it may block."""
