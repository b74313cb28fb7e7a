"""A worker of a group and runs of `eosfw run` under the same group id."""

from __future__ import annotations

import re

import pytest
from tests.herder.test_connector_requests import COUNTING, until_states
from tests.kip618.group import PLUGINS, GroupPlugins
from tests.runtime.counting import CountingConnector

from eosfw.errors import ConfigError
from eosfw.observe import Announcer
from eosfw.protocols import GroupDescription, MemberDescription
from eosfw.runtime import DistributedHerder, Worker, worker_config
from eosfw.runtime.group.live_workers import live_workers_problem


def generation(herder: DistributedHerder) -> int | None:
    """The generation of the connector whose tasks the worker runs."""
    found = herder.worker_status().connectors.get("c")
    return None if found is None else found.generation


def test_run_is_refused_while_workers_are_alive(group, cluster):
    """It names them; once they are gone it runs."""
    herder = group.start()
    backend = PLUGINS.backend("memory").connect(cluster.client, cluster.runtime)
    run = Worker(worker_config({"group.id": "g"}), backend, PLUGINS, Announcer(()), cluster.runtime)

    with pytest.raises(ConfigError, match=f"workers are alive in group 'g' \\({herder.name}\\)"):
        run.start()

    group.stop()
    run.start()
    run.stop(1)
    backend.close()


def test_run_names_a_kafka_connect_group_that_is_alive():
    """Its workers speak another protocol under the same group id; consumers of that name are none of ours."""
    java = GroupDescription("g", "Stable", "connect", (MemberDescription("m", "connect-10.0.0.1:8083", "/10.0.0.1"),))
    consumers = GroupDescription("g", "Stable", "consumer", (MemberDescription("m", "app", "/10.0.0.1"),))

    problem = "a Kafka Connect group is alive under 'g' .connect-10.0.0.1:8083 at /10.0.0.1."
    assert re.match(problem, live_workers_problem(java) or "")
    assert live_workers_problem(consumers) is None


def test_worker_supersedes_a_run_that_is_alive(group, cluster):
    """As a second run does: the connectors of the run go on in the worker, nothing is written twice."""
    backend = PLUGINS.backend("memory").connect(cluster.client, cluster.runtime)
    properties = {"group.id": "g", "exactly.once.source.support": "enabled", "offset.storage.partitions": "1"}
    plugins = GroupPlugins(CountingConnector())
    run = Worker(worker_config(properties), backend, plugins, Announcer(()), cluster.runtime)  # type: ignore[arg-type]
    run.start()
    run.put_connector("c", {**COUNTING, "until": "0"})
    group.until(lambda: run.status().records > 5, "records of the run")

    herder = group.start()
    group.until(lambda: generation(herder) == 1, "the connector's next generation")
    until_states(herder, group, "RUNNING", ["RUNNING", "RUNNING"])
    group.until(lambda: run.status().superseded, "the end of the run")
    group.until(lambda: herder.worker_status().records > 5, "records of the worker")
    run.stop(1)

    group.stop()
    again = group.start("b")
    group.until(lambda: generation(again) is not None, "the connector's tasks")
    group.runtime.sleep(5)
    assert generation(again) == 1, "a worker's connectors are not superseded by the next worker"
    backend.close()
