"""Metrics of a worker of a group: its own, and those of its membership (`WorkerRebalanceMetrics`)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib.metadata import version

from eosfw.commit import commit_id
from eosfw.concurrency import Runtime
from eosfw.observe import Metric
from eosfw.runtime.group.membership import GroupMembership
from eosfw.runtime.metrics.worker_metrics import WorkerMetrics
from eosfw.state.startups import Startups
from eosfw.state.tasks.metrics import WORKER_GROUP

_REBALANCE = "connect-worker-rebalance-metrics"
_COORDINATOR, _APP_INFO = "connect-coordinator-metrics", "app-info"


class GroupMetrics:
    """Reads what the worker, its member and its leader know; thread-safe."""

    def __init__(
        self, worker: WorkerMetrics, member: GroupMembership, startups: Startups, worker_id: str, runtime: Runtime
    ) -> None:
        """`startups` are those of connectors; `worker_id` stands in the client id, as Kafka Connect has it."""
        self._worker, self._member, self._startups, self._runtime = worker, member, startups, runtime
        self._client = {"client-id": f"connect-{worker_id}"}
        self._started = runtime.wall()

    def all(self) -> list[Metric]:
        """Every value now."""
        of_worker = self._worker.all()
        return [
            *of_worker,
            *self._startups.metrics("connector"),
            *self._of_group(),
            *self._of_rebalances(),
            *self._of_coordinator({one.name: one.value for one in of_worker if one.group == WORKER_GROUP}),
            *self._of_app(),
        ]

    def _of_group(self) -> Iterator[Metric]:
        member = self._member
        yield Metric(_REBALANCE, "epoch", member.generation, {}, "the newest generation of the group")
        yield Metric(_REBALANCE, "rebalancing", member.rebalance_expected(), {}, "1 while the group rebalances")
        leader = member.leader_url() or ""
        yield Metric(_REBALANCE, "leader-name", 1, {"leader-name": leader}, "who leads the group, as a label")
        for mode, count in sorted(Counter(member.modes().values()).items()):
            doc = "workers with this exactly.once.source.support; two modes are those of a rolling upgrade"
            yield Metric(_REBALANCE, "exactly-once-support-workers", count, {"support": mode}, doc)

    def _of_rebalances(self) -> Iterator[Metric]:
        found = self._member.rebalances
        for name, value, doc in (
            ("completed-rebalances-total", found.completed, "rebalances that this worker has completed"),
            ("rebalance-avg-time-ms", found.average * 1000, "average time of a rebalance"),
            ("rebalance-max-time-ms", found.longest * 1000, "longest time of a rebalance"),
            (
                "time-since-last-rebalance-ms",
                self._since_rebalance() * 1000,
                "time since the last rebalance; infinite before the first",
            ),
        ):
            yield Metric(_REBALANCE, name, value, {}, doc)

    def _since_rebalance(self) -> float:
        ended = self._member.rebalances.ended
        return math.inf if ended is None else self._runtime.now() - ended

    def _of_coordinator(self, of_worker: Mapping[str, float]) -> Iterator[Metric]:
        found = self._member.rebalances
        for name, value, doc in (
            ("assigned-connectors", of_worker["connector-count"], "connectors of which this worker runs tasks"),
            ("assigned-tasks", of_worker["task-count"], "tasks that this worker runs"),
            ("rebalance-total", found.completed, "rebalances that this worker has completed"),
            ("rebalance-latency-avg", found.average * 1000, "average time of a rebalance, in ms"),
            ("rebalance-latency-total", found.total * 1000, "time of all rebalances, in ms"),
            (
                "last-rebalance-seconds-ago",
                self._since_rebalance(),
                "time since the last rebalance; infinite before the first",
            ),
        ):
            yield Metric(_COORDINATOR, name, value, self._client, doc)

    def _of_app(self) -> Iterator[Metric]:
        yield Metric(
            _APP_INFO, "start-time-ms", self._started * 1000, self._client, "when the worker was started, since 1970"
        )
        for name, text in (("version", version("eosfw")), ("commit-id", self._commit_id)):
            yield Metric(_APP_INFO, name, 1, {**self._client, name: text}, f"{name} of eosfw, as a label")

    @cached_property
    def _commit_id(self) -> str:
        return commit_id()  # runs git in a checkout, so it is asked once
