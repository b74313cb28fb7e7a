"""A connector of a worker group watches its source in the leader (Kafka Connect's `ConnectorContext`)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest
from tests.kip618.group import PLUGINS, GroupPlugins
from tests.runtime.counting import expected
from tests.runtime.watching_connector import ChangingSource, watching

from eosfw.ids import ConnectorTaskId
from eosfw.protocols import Gap
from eosfw.runtime import DistributedHerder
from pytest_eos.environment.clusters.cluster import Cluster
from pytest_eos.runs.groups.herders import HerderGroup

COUNTING = {"connector.class": "watching", "topic": "counts", "until": "5", "tasks.max": "2", "password": "canary-7"}


@pytest.fixture
def source() -> ChangingSource:
    return ChangingSource()


@pytest.fixture
def group(cluster: Cluster, source: ChangingSource) -> Iterator[HerderGroup]:
    """A group without workers, whose connector looks at its source each second."""
    plugins = GroupPlugins(watching(source, 1.0))
    with HerderGroup(cluster, plugins, "g", scheduled_rebalance_max_delay_ms="0") as group:  # type: ignore[arg-type]
        yield group


def committed(cluster: Cluster) -> list[bytes]:
    """What a reader of committed records sees, sorted."""
    backend = PLUGINS.backend("memory").connect(cluster.client, cluster.runtime)
    with closing(backend), closing(PLUGINS.isolation_reader().over(backend, cluster.runtime)) as reader:
        found = reader.read(reader.bounds(["counts"]), 30.0)
        return sorted(value for batch in found if not isinstance(batch, Gap) for value in batch.values)


def running(herder: DistributedHerder) -> list[str]:
    return [task.state for task in herder.connector_status("c").tasks]


def create(group: HerderGroup, herder: DistributedHerder, source: ChangingSource) -> None:
    """Create the connector, and wait for its first look and its tasks."""
    herder.put_connector("c", COUNTING)
    group.until(lambda: "watch" in source.calls and running(herder) == ["RUNNING"], "a connector that runs")


def test_a_group_gets_a_new_generation_when_the_source_has_changed(
    group: HerderGroup, cluster: Cluster, source: ChangingSource
) -> None:
    """PLG-05: the leader generates it, and every earlier producer is fenced before its tasks start."""
    herder = group.start()
    create(group, herder, source)
    before = herder.settled_generation("c")
    source.streams = 2
    group.until(lambda: running(herder) == ["RUNNING", "RUNNING"], "two tasks")
    group.until(lambda: committed(cluster) == expected(2, 5), "both streams")

    assert before == 0
    assert herder.settled_generation("c") == 1
    assert [task.id for task in herder.task_infos("c")] == [ConnectorTaskId("c", 0), ConnectorTaskId("c", 1)]


def test_only_the_leader_watches_and_its_successor_goes_on(group: HerderGroup, source: ChangingSource) -> None:
    """PLG-04: a change that comes while nobody leads is seen by the next leader."""
    herder = group.start()
    create(group, herder, source)
    other = group.start("b")
    group.until(lambda: len(group.leaders()) == 1, "a leader")
    assert source.calls.count("start") == 1
    group.stop("a")
    source.streams = 2
    group.until(lambda: source.calls.count("start") == 2, "a start in the other worker")
    group.until(lambda: running(other) == ["RUNNING", "RUNNING"], "two tasks")


@pytest.mark.parametrize("how", ["pause", "stop", "delete"])
def test_a_connector_that_shall_not_run_is_not_watched(group: HerderGroup, source: ChangingSource, how: str) -> None:
    """PLG-04: and again when it is resumed."""
    herder = group.start()
    create(group, herder, source)
    {"pause": herder.pause_connector, "stop": herder.stop_connector, "delete": herder.delete_connector}[how]("c")
    group.until(lambda: source.calls[-1] == "stop", "the end of the watch")
    if how == "delete":
        herder.put_connector("c", COUNTING)
    else:
        herder.resume_connector("c")
    group.until(lambda: source.calls.count("start") == 2, "another start")


def test_a_failed_connector_is_shown_with_its_trace_until_it_is_restarted(
    group: HerderGroup, source: ChangingSource
) -> None:
    """PLG-06: FAILED, while its task goes on; without the secrets of its properties."""
    herder = group.start()
    create(group, herder, source)
    source.fails_with.append(ConnectionError("no route to the database of canary-7"))
    group.until(lambda: herder.connector_status("c").connector.state == "FAILED", "the failure")

    status = herder.connector_status("c").connector
    assert "ConnectionError: no route to the database of [hidden]" in (status.trace or "")
    assert "watching_connector.py" in (status.trace or "")
    assert "canary-7" not in (status.trace or "")
    assert running(herder) == ["RUNNING"]

    herder.restart_connector("c")
    group.until(lambda: source.calls.count("start") == 2, "another start")
    group.until(lambda: herder.connector_status("c").connector.state == "RUNNING", "the restart")
    assert source.calls.count("stop") == 1


def test_a_connector_reads_the_offsets_that_its_tasks_have_committed(
    group: HerderGroup, source: ChangingSource
) -> None:
    """PLG-07: of several partitions by one read, in their order."""
    herder = group.start()
    create(group, herder, source)
    reader = source.context.offset_reader

    group.until(lambda: reader.offset({"stream": "s0"}) == {"next": 5}, "the last offset")
    assert reader.offsets([{"stream": "s9"}, {"stream": "s0"}]) == [None, {"next": 5}]
