"""Restarts of connectors and tasks (KIP-745, FEN-14)."""

from __future__ import annotations

import pytest
from tests.herder.test_connector_requests import COUNTING, create, until_states
from tests.runtime.counting import CountingConnector, CountingTask

from eosfw.config import Config
from eosfw.connectors import SourceTaskContext
from eosfw.errors import ClusterUnavailableError, NotFoundError, RebalanceNeededError, RequestTimeoutError
from eosfw.ids import ConnectorTaskId
from eosfw.protocols.herder import TaskStateInfo

TASK = ConnectorTaskId("c", 1)


class Breaking:
    """Whether tasks fail when they start."""

    now = False
    starts = 0


class BreakingTask(CountingTask):
    """The second stream's task fails while `Breaking.now` is set."""

    def start(self, config: Config, context: SourceTaskContext) -> None:
        Breaking.starts += 1
        if Breaking.now and config["streams"] == "s1":
            raise RuntimeError("the source is away")
        super().start(config, context)


class BreakingConnector(CountingConnector):
    """Counts with tasks that may fail."""

    task = BreakingTask


@pytest.fixture
def group(cluster):
    """A group whose tasks may fail."""
    from tests.kip618.group import GroupPlugins

    from pytest_eos.runs.groups.herders import HerderGroup

    Breaking.now, Breaking.starts = True, 0
    with HerderGroup(cluster, GroupPlugins(BreakingConnector()), "g") as group:
        yield group


def failed(herder, group) -> None:
    """A connector one of whose tasks has failed, with no reason to fail again."""
    herder.put_connector("c", COUNTING)
    until_states(herder, group, "RUNNING", ["RUNNING", "FAILED"])
    Breaking.now = False


def test_failed_task_reports_its_trace_and_is_restarted_alone(group):
    herder = group.start()
    failed(herder, group)
    assert "the source is away" in (herder.task_status(TASK).trace or "")
    herder.restart_task(TASK)
    until_states(herder, group, "RUNNING", ["RUNNING", "RUNNING"])
    assert herder.task_status(TASK) == TaskStateInfo(1, "RUNNING", "a:8083", None)
    assert Breaking.starts == 3
    assert herder.worker_status().connectors["c"].generation == 0


@pytest.mark.parametrize(
    ("only_failed", "plan", "starts"),
    [(True, ("RUNNING", ["RUNNING", "RESTARTING"]), 3), (False, ("RESTARTING", ["RESTARTING"] * 2), 4)],
    ids=["failed", "all"],
)
def test_restart_with_tasks_restarts_what_was_asked_for_in_its_generation(group, only_failed, plan, starts):
    """The answer is the plan: RESTARTING where something will be restarted; the others are left alone."""
    herder = group.start()
    failed(herder, group)
    found = herder.restart_connector_and_tasks("c", only_failed=only_failed, include_tasks=True)
    assert (found.connector.state, [task.state for task in found.tasks]) == plan
    until_states(herder, group, "RUNNING", ["RUNNING", "RUNNING"])
    assert Breaking.starts == starts
    assert herder.worker_status().connectors["c"].generation == 0


def test_restart_without_tasks_restarts_no_task(group):
    herder = group.start()
    failed(herder, group)
    herder.restart_connector("c")
    plan = herder.restart_connector_and_tasks("c", only_failed=False, include_tasks=False)
    assert (plan.connector.state, [task.state for task in plan.tasks]) == ("RESTARTING", ["RUNNING", "FAILED"])
    group.until(lambda: herder.connector_status("c").connector.state == "RUNNING", "the connector's restart")
    assert Breaking.starts == 2


def test_what_does_not_exist_cannot_be_restarted(group):
    herder = group.start()
    Breaking.now = False
    create(herder, group)
    for ask in (herder.restart_connector, lambda name: herder.restart_task(ConnectorTaskId(name, 0))):
        with pytest.raises(NotFoundError, match=r"^Unknown connector: x$"):
            ask("x")
    with pytest.raises(NotFoundError, match=r"^Unknown connector: x$"):
        herder.restart_connector_and_tasks("x", only_failed=False, include_tasks=True)
    with pytest.raises(NotFoundError, match=r"^Unknown task: c-2$"):
        herder.restart_task(ConnectorTaskId("c", 2))


def test_restart_is_refused_while_the_config_topic_cannot_be_read(group, cluster):
    """FEN-14: a worker that cannot see the newest configuration restarts nothing."""
    herder = group.start()
    failed(herder, group)
    topic = herder._services.topic

    def unreadable(timeout: float) -> None:
        raise ClusterUnavailableError(f"nothing within {timeout:g} s")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(topic, "read_to_end", unreadable)
        with pytest.raises(RequestTimeoutError, match="Failed to read to end of config topic: nothing within 3 s"):
            herder.restart_task(TASK)
    assert Breaking.starts == 2


def test_restart_is_refused_while_tasks_are_about_to_move(group):
    """FEN-14: who runs a task may be outdated then; Kafka Connect answers 409."""
    herder = group.start()
    failed(herder, group)
    member = herder._services.member
    member.rebalance_expected = lambda: True  # type: ignore[method-assign]
    for ask in (
        lambda: herder.restart_task(TASK),
        lambda: herder.restart_connector("c"),
        lambda: herder.restart_connector_and_tasks("c", only_failed=True, include_tasks=True),
    ):
        with pytest.raises(
            RebalanceNeededError, match=r"^Request cannot be completed because a rebalance is expected$"
        ):
            ask()
    assert Breaking.starts == 2


def restart_all(herder, name: str = "c") -> None:
    herder.restart_connector_and_tasks(name, only_failed=False, include_tasks=True)


def test_a_restart_that_is_asked_for_while_the_worker_is_busy_happens_once(group):
    """KIP-745: the thread that asks reads the config topic beside the one that acts upon requests."""
    herder = group.start()
    Breaking.now = False
    create(herder, group)
    member, restarts, acted = herder._services.member, herder._parts.restarts, []
    follow, act_upon = member.on_config_update, restarts.act_upon
    ask = [restart_all]

    def follow_while_somebody_asks(configs) -> None:
        follow(configs)
        if ask:
            ask.pop()(herder)

    def act_upon_and_note(request) -> None:
        acted.append(request.connector)
        act_upon(request)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(member, "on_config_update", follow_while_somebody_asks)
        patch.setattr(restarts, "act_upon", act_upon_and_note)
        group.runtime.sleep(5.0)
    assert acted == ["c"]


def test_restarts_are_not_lost_while_the_cluster_is_away(group):
    """KIP-745: each worker has read the request, and nobody asks again."""
    herder = group.start()
    Breaking.now = False
    for name in "cd":
        create(herder, group, name, topic=f"{name}-counts")
    started, restarts = Breaking.starts, herder._parts.restarts
    act_upon, troubles = restarts.act_upon, [ClusterUnavailableError("no status topic")] * 3

    def act_upon_after_troubles(request) -> None:
        if troubles:
            raise troubles.pop()
        act_upon(request)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(restarts, "act_upon", act_upon_after_troubles)
        for name in "cd":
            restart_all(herder, name)
        group.runtime.sleep(5.0)
    assert Breaking.starts == started + 4
