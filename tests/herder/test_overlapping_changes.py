"""A connector that changes while the leader asks it for its tasks, or between two looks, gets those it shall have."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import pytest
from tests.herder.test_connector_requests import COUNTING, create, states
from tests.kip618.group import GroupPlugins
from tests.runtime.counting import CountingConnector

from eosfw.concurrency import Runtime
from eosfw.config import Config
from eosfw.runtime import DistributedHerder
from pytest_eos.environment.clusters.cluster import Cluster
from pytest_eos.runs.groups.herders import HerderGroup

LONG = 150.0
"""Seconds after which a question is answered in any case; longer than a restart waits for another one."""
SETTLED = 5.0
"""Seconds in which a worker has looked at the config topic many times."""


class SlowToAnswer(CountingConnector):
    """With records of two numbers in one poll, it answers the question for its tasks once it is let."""

    def __init__(self, runtime: Runtime) -> None:
        self.asked, self.answers = runtime.event(), runtime.event()

    def task_configs(self, config: Config, max_tasks: int) -> Sequence[Mapping[str, str]]:
        if config["batch"] == 2:
            self.asked.set()
            self.answers.wait(LONG)
        return super().task_configs(config, max_tasks)


@pytest.fixture
def connector(cluster: Cluster) -> SlowToAnswer:
    return SlowToAnswer(cluster.runtime)


@pytest.fixture
def group(cluster: Cluster, connector: SlowToAnswer) -> Iterator[HerderGroup]:
    with HerderGroup(cluster, GroupPlugins(connector), "g") as group:  # type: ignore[arg-type]
        yield group


Change = Callable[[DistributedHerder], object]


def changed_while_asked(group: HerderGroup, connector: SlowToAnswer, name: str, change: Change) -> DistributedHerder:
    """A worker whose connector `c` runs, once that was changed while a connector `name` was asked for its tasks."""
    herder = group.start()
    create(herder, group)
    herder.put_connector(name, {**COUNTING, "batch": "2", "topic": f"{name}-counts"})
    assert connector.asked.wait(10.0)
    change(herder)
    connector.answers.set()
    group.runtime.sleep(SETTLED)
    return herder


def stop(herder: DistributedHerder) -> None:
    herder.stop_connector("c")


def stop_and_resume(herder: DistributedHerder) -> None:
    herder.stop_connector("c")
    herder.resume_connector("c")


def change_again(herder: DistributedHerder) -> None:
    herder.put_connector("c", {**COUNTING, "tasks.max": "1"})


def test_a_connector_that_is_stopped_while_it_is_asked_for_its_tasks_gets_none(group, connector):
    """OFF-15: they would go on for ever, and no offset could be changed."""
    herder = changed_while_asked(group, connector, "c", stop)

    assert states(herder) == ("STOPPED", [])
    assert herder.task_infos("c") == []


@pytest.mark.parametrize("asked", ["c", "d"])
def test_a_connector_that_is_stopped_and_resumed_at_once_gets_its_tasks_back(group, connector, asked):
    """OFF-15: also if the leader was busy with another one, and sees both together."""
    herder = changed_while_asked(group, connector, asked, stop_and_resume)

    assert states(herder) == ("RUNNING", ["RUNNING", "RUNNING"])


def test_tasks_of_properties_that_are_outdated_are_not_written(group, connector):
    """FEN-04: they would be a generation of their own, started and stopped again."""
    herder = changed_while_asked(group, connector, "c", change_again)

    assert states(herder) == ("RUNNING", ["RUNNING"])
    assert herder.settled_generation("c") == 1


def test_a_restart_that_waited_in_vain_for_another_connector_is_done_later(group, connector):
    """KIP-745: its state would be RESTARTING for ever."""
    herder = group.start()
    create(herder, group)
    connector.answers.set()
    herder.put_connector("d", {**COUNTING, "batch": "2", "topic": "d-counts"})
    group.until(lambda: states(herder, "d") == ("RUNNING", ["RUNNING", "RUNNING"]), "the tasks of d")
    connector.asked, connector.answers = group.runtime.event(), group.runtime.event()
    other = group.runtime.spawn("restart-d", lambda: herder.restart_connector("d"))
    assert connector.asked.wait(10.0)

    herder.restart_connector_and_tasks("c", only_failed=False, include_tasks=False)
    group.runtime.sleep(100.0)
    assert states(herder)[0] == "RESTARTING"
    connector.answers.set()
    other.join()

    group.until(lambda: states(herder) == ("RUNNING", ["RUNNING", "RUNNING"]), "the restart")
