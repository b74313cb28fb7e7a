"""What the tasks of a worker share."""

from __future__ import annotations

from dataclasses import dataclass

from eosfw.concurrency import Runtime
from eosfw.protocols import Backend
from eosfw.runtime.config_topic import ConfigTopic
from eosfw.runtime.global_offset_backing_store import GlobalOffsetBackingStore
from eosfw.runtime.status_recorder import Announce, TaskListener
from eosfw.runtime.task_planner import TaskPlanner
from eosfw.runtime.worker_group import FencingLeader, TaskOwner


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerServices:
    """What every task of a worker is given."""

    group_id: str
    worker: str
    """The worker's name."""
    backend: Backend
    config_topic: ConfigTopic
    worker_offsets: GlobalOffsetBackingStore
    planner: TaskPlanner
    leader: FencingLeader
    member: TaskOwner
    announce: Announce
    runtime: Runtime
    listener: TaskListener | None = None
