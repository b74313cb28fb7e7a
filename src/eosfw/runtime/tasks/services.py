"""What the tasks of a worker share."""

from __future__ import annotations

from dataclasses import dataclass

from eosfw.concurrency import Runtime
from eosfw.observe import PluginMetricsRegistry
from eosfw.protocols import Backend
from eosfw.runtime.group.protocols import FencingLeader, TaskOwner
from eosfw.runtime.storage.config_topic import ConfigTopic
from eosfw.runtime.storage.global_offset_backing_store import GlobalOffsetBackingStore
from eosfw.runtime.tasks.planner import TaskPlanner
from eosfw.runtime.tasks.start_queue import StartQueue
from eosfw.runtime.tasks.status_recorder import TaskListener
from eosfw.state.steps import Announce


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
    starts: StartQueue
    plugin_metrics: PluginMetricsRegistry
    listener: TaskListener | None = None
    measure: Announce = lambda _: None
    """Measures the steps of tasks in other processes; those of this one are measured as they are announced."""
