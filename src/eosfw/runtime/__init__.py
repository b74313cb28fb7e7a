"""Run connectors exactly once: leader, membership, tasks (KIP-618)."""

from __future__ import annotations

from eosfw.runtime.status import ConnectorStatus, Notice, PollFailures, TaskState, TaskStatus, WorkerStatus
from eosfw.runtime.worker import Worker

__all__ = ["ConnectorStatus", "Notice", "PollFailures", "TaskState", "TaskStatus", "Worker", "WorkerStatus"]
