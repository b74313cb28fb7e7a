"""Metrics of a worker of a group: its own, and those of its membership (`WorkerRebalanceMetrics`)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator

from eosfw.concurrency import Runtime
from eosfw.observe import Metric
from eosfw.runtime.group.membership import GroupMembership
from eosfw.runtime.metrics.worker_metrics import WorkerMetrics

_REBALANCE = "worker-rebalance-metrics"


class GroupMetrics:
    """Reads what the worker and its member know; thread-safe."""

    def __init__(self, worker: WorkerMetrics, member: GroupMembership, runtime: Runtime) -> None:
        self._worker, self._member, self._runtime = worker, member, runtime

    def all(self) -> list[Metric]:
        """Every value now."""
        return [*self._worker.all(), *self._of_group()]

    def _of_group(self) -> Iterator[Metric]:
        member = self._member
        yield Metric(_REBALANCE, "epoch", member.generation, {}, "the newest generation of the group")
        yield Metric(_REBALANCE, "rebalancing", member.rebalance_expected(), {}, "1 while the group rebalances")
        leader = member.leader_url() or ""
        yield Metric(_REBALANCE, "leader-name", 1, {"leader_name": leader}, "who leads the group, as a label")
        for mode, count in sorted(Counter(member.modes().values()).items()):
            doc = "workers with this exactly.once.source.support; two modes are those of a rolling upgrade"
            yield Metric(_REBALANCE, "exactly-once-support-workers", count, {"support": mode}, doc)
        yield from self._of_rebalances()

    def _of_rebalances(self) -> Iterator[Metric]:
        found = self._member.rebalances
        since = math.inf if found.ended is None else self._runtime.now() - found.ended
        for name, value, doc in (
            ("completed-rebalances-total", found.completed, "rebalances that this worker has completed"),
            ("rebalance-avg-time-ms", found.average * 1000, "average time of a rebalance"),
            ("rebalance-max-time-ms", found.longest * 1000, "longest time of a rebalance"),
            ("time-since-last-rebalance-ms", since * 1000, "time since the last rebalance; infinite before the first"),
        ):
            yield Metric(_REBALANCE, name, value, {}, doc)
