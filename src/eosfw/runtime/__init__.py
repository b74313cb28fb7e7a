"""Run connectors exactly once: the worker, its leader, its tasks (KIP-618; `org.apache.kafka.connect.runtime`)."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from eosfw.runtime.checks.acl_plan import acl_plan
    from eosfw.runtime.checks.preflight import connector_config
    from eosfw.runtime.checks.problem_list import read_problems
    from eosfw.runtime.distributed.herder import DistributedHerder
    from eosfw.runtime.distributed.herder_parts import WorkerSetup, worker_config
    from eosfw.runtime.hosting.task_process import run_hosted_task
    from eosfw.runtime.records.poll_result import has_records, offsets_lacking, read_poll_result
    from eosfw.runtime.status import ConnectorStatus, Notice, PollFailures, TaskState, TaskStatus, WorkerStatus
    from eosfw.runtime.tasks.commit_protocol import TransactionalCommit
    from eosfw.runtime.worker import Worker
    from eosfw.state.group.request_signature import MAX_CLOCK_SKEW_MS
    from eosfw.state.tasks.boundary import Boundary, BoundaryError, End, PollBoundary, RequestedBoundary, split
    from eosfw.state.tasks.poll_batch import PollBatch

__all__ = [
    "MAX_CLOCK_SKEW_MS",
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
    "acl_plan",
    "connector_config",
    "has_records",
    "offsets_lacking",
    "read_poll_result",
    "read_problems",
    "run_hosted_task",
    "split",
    "worker_config",
]

_HOMES = {
    "MAX_CLOCK_SKEW_MS": "eosfw.state.group.request_signature",
    "Boundary": "eosfw.state.tasks.boundary",
    "BoundaryError": "eosfw.state.tasks.boundary",
    "ConnectorStatus": "eosfw.runtime.status",
    "DistributedHerder": "eosfw.runtime.distributed.herder",
    "End": "eosfw.state.tasks.boundary",
    "Notice": "eosfw.runtime.status",
    "PollBatch": "eosfw.state.tasks.poll_batch",
    "PollBoundary": "eosfw.state.tasks.boundary",
    "PollFailures": "eosfw.runtime.status",
    "RequestedBoundary": "eosfw.state.tasks.boundary",
    "TaskState": "eosfw.runtime.status",
    "TaskStatus": "eosfw.runtime.status",
    "TransactionalCommit": "eosfw.runtime.tasks.commit_protocol",
    "Worker": "eosfw.runtime.worker",
    "WorkerSetup": "eosfw.runtime.distributed.herder_parts",
    "WorkerStatus": "eosfw.runtime.status",
    "acl_plan": "eosfw.runtime.checks.acl_plan",
    "connector_config": "eosfw.runtime.checks.preflight",
    "has_records": "eosfw.runtime.records.poll_result",
    "offsets_lacking": "eosfw.runtime.records.poll_result",
    "read_poll_result": "eosfw.runtime.records.poll_result",
    "read_problems": "eosfw.runtime.checks.problem_list",
    "run_hosted_task": "eosfw.runtime.hosting.task_process",
    "split": "eosfw.state.tasks.boundary",
    "worker_config": "eosfw.runtime.distributed.herder_parts",
}


def __getattr__(name: str) -> Any:
    # As in eosfw.pipeline: whoever needs one module here does not load a whole worker.
    if name not in _HOMES:
        raise AttributeError(f"module 'eosfw.runtime' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
