"""Run connectors exactly once: the worker, its leader, its tasks (KIP-618; `org.apache.kafka.connect.runtime`)."""

from __future__ import annotations

from eosfw.runtime.checks.preflight import connector_config
from eosfw.runtime.distributed.herder import DistributedHerder
from eosfw.runtime.distributed.herder_parts import WorkerSetup, worker_config
from eosfw.runtime.hosting.task_process import run_hosted_task
from eosfw.runtime.records.poll_result import has_records, offsets_lacking, read_poll_result
from eosfw.runtime.status import ConnectorStatus, Notice, PollFailures, TaskState, TaskStatus, WorkerStatus
from eosfw.runtime.tasks.commit_protocol import TransactionalCommit
from eosfw.runtime.worker import Worker
from eosfw.state.tasks.boundary import Boundary, BoundaryError, End, PollBoundary, RequestedBoundary, split
from eosfw.state.tasks.poll_batch import PollBatch

__all__ = [
    "Boundary",
    "BoundaryError",
    "ConnectorStatus",
    "DistributedHerder",
    "End",
    "Notice",
    "PollBatch",
    "PollBoundary",
    "PollFailures",
    "RequestedBoundary",
    "TaskState",
    "TaskStatus",
    "TransactionalCommit",
    "Worker",
    "WorkerSetup",
    "WorkerStatus",
    "connector_config",
    "has_records",
    "offsets_lacking",
    "read_poll_result",
    "run_hosted_task",
    "split",
    "worker_config",
]
