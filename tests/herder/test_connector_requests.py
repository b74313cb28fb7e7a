"""What users ask of a worker: connectors are created, changed, paused, stopped, restarted, deleted."""

from __future__ import annotations

from contextlib import closing
from importlib.metadata import version

import pytest
from tests.kip618.group import PLUGINS, GroupPlugins
from tests.runtime.counting import CountingConnector

from eosfw.commit import commit_id
from eosfw.errors import (
    AlreadyExistsError,
    BadRequestError,
    ClusterUnavailableError,
    ConfigError,
    NotFoundError,
    RecordTooLargeError,
)
from eosfw.ids import ConnectorTaskId
from eosfw.protocols.herder import ConnectorInfo, ServerInfo, TaskInfo
from eosfw.runtime import DistributedHerder
from pytest_eos.runs.groups.herders import HerderGroup

COUNTING = {"connector.class": "counting", "topic": "counts", "streams": "2", "until": "50", "tasks.max": "2"}


def create(herder: DistributedHerder, group: HerderGroup, name: str = "c", **more: str) -> None:
    """Create a connector and wait until its tasks run."""
    herder.put_connector(name, {**COUNTING, **more})
    until_states(herder, group, "RUNNING", ["RUNNING", "RUNNING"], name)


def states(herder: DistributedHerder, name: str = "c") -> tuple[str, list[str]] | None:
    """The states of a connector and its tasks by the status topic."""
    try:
        status = herder.connector_status(name)
    except NotFoundError:
        return None
    return status.connector.state, [task.state for task in status.tasks]


def until_states(
    herder: DistributedHerder, group: HerderGroup, connector: str, tasks: list[str], name: str = "c"
) -> None:
    """Wait for states; the message has those that were there instead."""
    try:
        group.until(lambda: states(herder, name) == (connector, tasks), f"{connector} with {tasks}")
    except AssertionError as error:
        raise AssertionError(f"{error}; there is {states(herder, name)}") from error


def test_created_connector_runs_its_tasks(group):
    """A connector's answer is Connect's: its properties, with no tasks yet. It is created once."""
    herder = group.start()
    created = herder.put_connector("c", COUNTING)
    assert created.created
    assert created.info == ConnectorInfo("c", {"name": "c", **COUNTING}, [])
    until_states(herder, group, "RUNNING", ["RUNNING", "RUNNING"])
    assert herder.connectors() == ["c"]
    assert herder.connector_info("c").tasks == [ConnectorTaskId("c", 0), ConnectorTaskId("c", 1)]
    assert herder.connector_status("c").connector.worker_id == "a:8083"
    shares = [
        {"streams": one, "until": "50", "batch": "1", "topic": "counts", "shape": "batch"} for one in ("s0", "s1")
    ]
    assert herder.task_infos("c") == [TaskInfo(ConnectorTaskId("c", n), share) for n, share in enumerate(shares)]
    with pytest.raises(AlreadyExistsError, match="Connector c already exists"):
        herder.put_connector("c", COUNTING, replace=False)
    assert not herder.put_connector("c", COUNTING).created


def test_connector_whose_creation_got_no_answer_is_created(group, monkeypatch):
    """LDR-04: the leader writes again, and finds the connector that it has written itself."""
    herder = group.start()
    topic, troubles = herder._services.topic, [ClusterUnavailableError("no answer")]
    read_to_end = topic.read_to_end

    def read_after_troubles(*arguments) -> None:
        if troubles:
            raise troubles.pop()
        read_to_end(*arguments)

    monkeypatch.setattr(topic, "read_to_end", read_after_troubles)
    assert herder.put_connector("c", COUNTING, replace=False).created
    assert troubles == []
    with pytest.raises(AlreadyExistsError, match="Connector c already exists"):
        herder.put_connector("c", COUNTING, replace=False)
    until_states(herder, group, "RUNNING", ["RUNNING", "RUNNING"])


@pytest.mark.parametrize(("state", "connector"), [("PAUSED", "PAUSED"), ("STOPPED", "STOPPED"), ("RUNNING", "RUNNING")])
def test_initial_state_is_that_of_the_first_start(group, state, connector):
    """KIP-980: a connector that is created paused or stopped has no tasks until it is resumed."""
    herder = group.start()
    herder.put_connector("c", COUNTING, initial_state=state)
    running = ["RUNNING", "RUNNING"]
    until_states(herder, group, connector, running if state == "RUNNING" else [])
    herder.resume_connector("c")
    until_states(herder, group, "RUNNING", running)


def test_invalid_properties_are_refused_in_connects_words(group):
    herder = group.start()
    with pytest.raises(BadRequestError, match="RUNNING, PAUSED or STOPPED, not 'DANCING'"):
        herder.put_connector("c", COUNTING, initial_state="DANCING")
    with pytest.raises(BadRequestError) as refused:
        herder.put_connector("c", {**COUNTING, "tasks.max": "none"})
    assert str(refused.value) == (
        "Connector configuration is invalid and contains the following 1 error(s):\n"
        "Invalid value none for configuration tasks.max: Not a number of type INT\n"
        "You can also find the above list of errors at the endpoint "
        "`/connector-plugins/{connectorType}/config/validate`"
    )
    assert herder.connectors() == []


def test_patch_changes_some_properties_and_removes_others(group):
    """KIP-477."""
    herder = group.start()
    create(herder, group, batch="5")
    changed = herder.patch_connector("c", {"tasks.max": "1", "batch": None})
    assert not changed.created
    assert changed.info.config == {"name": "c", **COUNTING, "tasks.max": "1"}
    until_states(herder, group, "RUNNING", ["RUNNING"])
    with pytest.raises(NotFoundError, match="Connector x not found"):
        herder.patch_connector("x", {})


def test_stopped_connector_has_no_tasks_until_it_is_resumed(group):
    """OFF-15: a stop deletes the task configurations, a resume makes them anew."""
    herder = group.start()
    create(herder, group)
    herder.stop_connector("c")
    until_states(herder, group, "STOPPED", [])
    assert herder.task_infos("c") == []
    with pytest.raises(BadRequestError, match="Cannot submit non-empty set of task configs for stopped connector c"):
        herder.put_task_configs("c", lambda: [{"streams": "s0"}], None)
    herder.resume_connector("c")
    until_states(herder, group, "RUNNING", ["RUNNING", "RUNNING"])


def test_deleted_connector_leaves_no_state_behind(group):
    herder = group.start()
    create(herder, group)
    herder.delete_connector("c")
    assert herder.connectors() == []
    group.until(lambda: states(herder) is None, "the end of its states")
    for request in (herder.delete_connector, herder.connector_info, herder.task_infos):
        with pytest.raises(NotFoundError, match="Connector c not found"):
            request("c")
    for request in (herder.pause_connector, herder.resume_connector, herder.stop_connector):
        with pytest.raises(NotFoundError, match="Unknown connector c"):
            request("c")


def test_restarted_worker_goes_on_from_the_config_topic(group):
    """A worker needs no file of connectors: properties, tasks and target states are in the config topic."""
    herder = group.start()
    create(herder, group)
    create(herder, group, "d", topic="others")
    herder.pause_connector("d")
    until_states(herder, group, "PAUSED", ["PAUSED", "PAUSED"], "d")
    generation = herder.worker_status().connectors["c"].generation
    group.stop()
    again = group.start("b")
    until_states(again, group, "RUNNING", ["RUNNING", "RUNNING"])
    until_states(again, group, "PAUSED", ["PAUSED", "PAUSED"], "d")
    assert again.connector_status("c").tasks[0].worker_id == "b:8083"
    assert again.worker_status().connectors["c"].generation == generation


def test_connector_uses_the_topics_it_writes_to(group):
    """KIP-558."""
    herder = group.start()
    create(herder, group)
    group.until(lambda: herder.active_topics("c").topics == ["counts"], "the topic")
    herder.reset_active_topics("c")
    assert herder.active_topics("c").topics == []


def test_worker_tells_its_version_its_cluster_and_its_health(group, cluster):
    """KIP-1017: a worker that cannot read one of its topics is unhealthy, and says why."""
    herder = group.start()
    with closing(PLUGINS.backend("memory").connect(cluster.client, cluster.runtime)) as backend:
        cluster_id = backend.admin().cluster_id()
    assert herder.server_info() == ServerInfo(version("eosfw"), commit_id(), str(cluster_id))
    assert herder.health().status == "healthy"
    services = herder._services
    for topic, method in ((services.topic, "read_decided"), (services.statuses, "read_to_end")):
        read = getattr(topic, method)
        setattr(topic, method, unavailable)
        group.runtime.sleep(15)
        assert (herder.health().status, "nobody answered" in herder.health().message) == ("unhealthy", True)
        setattr(topic, method, read)
        group.until(lambda: herder.health().status == "healthy", "the next look at the topics")


def test_an_error_that_is_none_of_the_framework_is_logged_once_and_not_shown_in_health(group, caplog):
    """KIP-1017: it may hold a secret of a connector, and comes four times a second."""
    herder = group.start()

    def broken() -> None:
        raise ValueError("hunter2")

    herder._services.statuses.read_to_end = broken
    group.runtime.sleep(15)

    assert herder.health().message.endswith("ValueError: see the log of the worker")
    assert caplog.text.count("goes on trying") == 1


def unavailable(timeout: float = 30.0) -> None:
    """What a read does while no broker answers."""
    raise ClusterUnavailableError(f"nobody answered within {timeout:g} s")


def test_connector_whose_ids_another_group_uses_is_refused(group, cluster):
    """TXN-01: connector `x-c` of group `g` and connector `c` of group `g-x` would fence each other for ever."""
    with HerderGroup(cluster, GroupPlugins(CountingConnector()), "g-x") as other:  # type: ignore[arg-type]
        create(other.start("other"), other)
        herder = group.start()
        with pytest.raises(ConfigError, match=r"connector x-c: .*g-x"):
            herder.put_connector("x-c", COUNTING)
        assert herder.connectors() == []


def test_properties_that_are_too_large_for_the_config_topic_are_refused_at_once(group, caplog):
    """LDR-03: nothing changes, and the leader has lost no privilege."""
    herder = group.start()
    create(herder, group)
    position, before = herder._services.topic.position, group.runtime.now()

    for name, replace in (("c", True), ("d", False)):
        with pytest.raises(RecordTooLargeError, match="nothing was written to topic g-configs of the worker group"):
            herder.put_connector(name, {**COUNTING, "topic.creation.groups": "x" * 2_000_000}, replace=replace)

    assert group.runtime.now() - before < 1.0
    assert not [one for one in caplog.messages if "privilege" in one]
    assert herder.connectors() == ["c"]
    assert herder.connector_info("c").config == {"name": "c", **COUNTING}
    herder.put_connector("c", {**COUNTING, "until": "60"})
    assert herder._services.topic.position > position


def test_two_requests_that_change_different_properties_both_count(group, monkeypatch):
    """KIP-477: the second one was made of the properties before the first."""
    herder = group.start()
    create(herder, group)
    change = patched_meanwhile(herder, monkeypatch, lambda: herder.patch_connector("c", {"until": "60"}))

    found = herder.patch_connector("c", {"batch": "2"}).info.config

    assert change == []
    assert found == herder.connector_info("c").config == {"name": "c", **COUNTING, "until": "60", "batch": "2"}


def test_a_connector_that_is_deleted_while_it_is_patched_stays_deleted(group, monkeypatch):
    """KIP-477: what a patch knows is no connector."""
    herder = group.start()
    create(herder, group)
    patched_meanwhile(herder, monkeypatch, lambda: herder.delete_connector("c"))

    with pytest.raises(NotFoundError, match="Connector c not found"):
        herder.patch_connector("c", {"batch": "2"})
    assert herder.connectors() == []


def patched_meanwhile(herder: DistributedHerder, monkeypatch, change) -> list:
    """Have something changed once while properties are validated; empty once it was."""
    plugins, changes = herder._parts.plugins, [change]
    validate = plugins.validate_connector

    def validate_meanwhile(*arguments):
        if changes:
            changes.pop()()
        return validate(*arguments)

    monkeypatch.setattr(type(plugins), "validate_connector", lambda _, *arguments: validate_meanwhile(*arguments))
    return changes


def test_a_connector_that_is_deleted_while_it_is_stopped_leaves_its_namesake_no_state(group, monkeypatch):
    """OFF-15, LOG-08: a connector of that name would be created and never run."""
    herder = group.start()
    create(herder, group)
    writer = herder._services.leader._writer
    write, deletions = writer.write, [herder.delete_connector]

    def write_meanwhile(*arguments):
        if deletions:
            deletions.pop()("c")
        write(*arguments)

    monkeypatch.setattr(writer, "write", write_meanwhile)
    with pytest.raises(NotFoundError, match=r"^Unknown connector c$"):
        herder.stop_connector("c")

    create(herder, group)
