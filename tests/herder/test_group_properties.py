"""Properties of workers have their effect in a group of several."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import pytest
from tests.kip618.group import GroupPlugins
from tests.runtime.counting import CountingConnector

from eosfw.errors import EosfwError
from eosfw_memory.client.backend import MemoryBackend
from pytest_eos.environment.clusters.cluster import Cluster
from pytest_eos.runs.groups.herders import HerderGroup

COUNTING = {"connector.class": "counting", "topic": "counts", "until": "5", "streams": "2", "tasks.max": "2"}
LEADER, TASKS = {"connect-cluster-g"}, {"g-c-0", "g-c-1"}


def group_of(cluster: Cluster, **worker: str) -> HerderGroup:
    return HerderGroup(cluster, GroupPlugins(CountingConnector()), "g", **worker)  # type: ignore[arg-type]


def transactional_ids(cluster: Cluster) -> set[str]:
    """Every id that was ever used."""
    backend = GroupPlugins(CountingConnector()).backend("memory").connect(cluster.client, cluster.runtime)
    with closing(backend), closing(backend.admin()) as admin:
        return {one.transactional_id for one in admin.list_transactions()}


@pytest.mark.parametrize(("support", "ids"), [("disabled", set()), ("preparing", LEADER), ("enabled", LEADER | TASKS)])
def test_a_mode_holds_for_the_leader_and_every_task(cluster: Cluster, support: str, ids: set[str]) -> None:
    """CFG-01, CFG-11: with `preparing` the leader alone writes in transactions."""
    with group_of(cluster, exactly_once_source_support=support, offset_flush_interval_ms="100") as group:
        workers = [group.start(name) for name in ("a", "b")]
        group.until(lambda: any(one.leads() for one in workers), "a leader")
        leader = next(one for one in workers if one.leads())
        leader.put_connector("c", COUNTING)
        group.until(lambda: records(workers) == 10, "all records")

        assert transactional_ids(cluster) == ids


def records(workers: list[Any]) -> int:
    return sum(task.records for one in workers for task in one.worker_status().tasks)


def test_a_connector_cannot_choose_a_mode_of_its_own(cluster: Cluster) -> None:
    """CFG-11: it can only insist on its group's."""
    with group_of(cluster, exactly_once_source_support="preparing") as group:
        herder = group.start()
        for name, text in (("exactly.once.source.support", "enabled"), ("exactly.once.support", "required")):
            with pytest.raises(EosfwError, match=name.replace(".", r"\.")):
                herder.put_connector("c", {**COUNTING, name: text})


def test_the_timeouts_of_a_group_reach_its_coordinator(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """CFG-10."""
    given: list[dict[str, Any]] = []
    real = MemoryBackend.group_consumer

    def group_consumer(self: MemoryBackend, *args: Any, **named: Any) -> Any:
        given.append(named)
        return real(self, *args, **named)

    monkeypatch.setattr(MemoryBackend, "group_consumer", group_consumer)
    with group_of(
        cluster, session_timeout_ms="7000", rebalance_timeout_ms="21000", heartbeat_interval_ms="500"
    ) as group:
        group.start()

    assert (given[0]["session_timeout"], given[0]["rebalance_timeout"]) == (7.0, 21.0)
    assert given[0]["properties"]["heartbeat.interval.ms"] == "500"
