"""A connector that tries to end the process, as a library does that is made for commands, ends nothing but itself."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping

import pytest
from tests.kip618.group import GroupPlugins
from tests.runtime.counting import CountingConnector

from eosfw.config import Config
from eosfw.errors import NotFoundError
from eosfw.runtime import DistributedHerder
from pytest_eos.environment.clusters.cluster import Cluster
from pytest_eos.runs.groups.herders import HerderGroup


class Exiting(CountingConnector):
    """Exits where its topic says."""

    def problems(self, config: Config) -> list[str]:
        if config["topic"] == "checked":
            sys.exit("no such table")
        return []

    def task_configs(self, config: Config, max_tasks: int) -> list[Mapping[str, str]]:
        if config["topic"] == "split":
            sys.exit("no such table")
        return super().task_configs(config, max_tasks)


@pytest.fixture
def herder(cluster: Cluster) -> Iterator[DistributedHerder]:
    with HerderGroup(cluster, GroupPlugins(Exiting()), "g") as group:  # type: ignore[arg-type]
        yield group.start()


def properties(topic: str) -> dict[str, str]:
    return {"connector.class": "counting", "name": "c", "topic": topic}


def state_of(herder: DistributedHerder, name: str) -> str | None:
    try:
        return herder.connector_status(name).connector.state
    except NotFoundError:  # nobody has reported yet
        return None


def test_a_connector_that_exits_when_it_is_split_disturbs_no_other(cluster: Cluster, herder: DistributedHerder) -> None:
    """SCN-02: it has failed, and its state says why."""
    for name in ("split", "counts"):
        herder.put_connector(name, properties(name) | {"name": name})
    cluster.runtime.sleep(10)

    assert (state_of(herder, "counts"), state_of(herder, "split")) == ("RUNNING", "FAILED")
    assert "SystemExit: no such table" in str(herder.connector_status("split").connector.trace)


def test_a_connector_that_exits_when_it_is_validated_has_an_error(herder: DistributedHerder) -> None:
    """CFG-04."""
    infos = herder.validate("counting", properties("checked"))

    (error,) = [text for info in infos.configs for text in info.value["errors"]]
    assert error == "the connector failed when it checked its properties: no such table"
