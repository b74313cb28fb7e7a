"""A task runs by what the config topic says, whatever any worker had in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import pytest

from eosfw.config import Config, ConfigDef, String
from eosfw.connectors import SourceConnector, SourceTask
from eosfw.errors import ConfigError
from eosfw.runtime.group.protocols import Assignment
from eosfw.runtime.status import TaskState
from eosfw.state.steps import TaskStep
from eosfw.state.storage.config_records import ConfigRecord, connector_record, task_records

from .fake_cluster import Entry, FakeCluster
from .worker_harness import WorkerHarness


class NotedTask(SourceTask):
    """Records its start properties; returns no records."""

    started: ClassVar[list[str]]

    def start(self, config: Config, context: Any) -> None:
        self.started.append(config["share"])

    def poll(self) -> None:
        return None

    def at_end(self) -> bool:
        return True


class SharesConnector(SourceConnector):
    """Splits its work as the list `shares` says at that moment."""

    name = "shares"
    config = ConfigDef(String("topic", "t"))

    def __init__(self, *shares: Any) -> None:
        self.shares: list[Any] = list(shares)
        self.task = type("Task", (NotedTask,), {"started": []})  # type: ignore[misc]

    @property
    def started(self) -> list[str]:
        return self.task.started  # type: ignore[attr-defined, no-any-return]

    def task_configs(self, config: Config, max_tasks: int) -> Sequence[Mapping[str, str]]:
        return [{"share": share} for share in self.shares]


def write(cluster: FakeCluster, *records: ConfigRecord) -> None:
    """Put records into the config topic as another worker of the group does."""
    for key, value in records:
        cluster.append("g-configs", 0, Entry(key, value, (), None))


def assign(stage: WorkerHarness, generation: int, *tasks: int) -> None:
    """Assign tasks to the worker as a group's coordinator would."""
    stage.worker._member.on_new_generation(Assignment("c", generation, tasks))


def test_a_task_gets_what_the_topic_says_not_what_was_planned() -> None:
    """Another worker's generation: this one neither planned nor checked it."""
    cluster, connector = FakeCluster(), SharesConnector("planned")
    with WorkerHarness(connector, cluster) as stage:
        stage.put()
        stage.until_drained()
        properties = {"name": "c", "connector.class": "shares", "tasks.max": "2"}
        write(cluster, connector_record("c", properties), *task_records("c", [{"share": "x"}, {"share": "y"}]))
        stage.worker._leader.fence_zombies("c", 1)
        assign(stage, 1, 1)
        stage.until_drained()

    assert connector.started == ["planned", "y"]


def test_newer_connector_properties_wait_for_task_configurations_of_their_own() -> None:
    """A leader writes the two one after the other: until the second, tasks run by what they were made from."""
    cluster, connector = FakeCluster(), SharesConnector("a")
    with WorkerHarness(connector, cluster) as stage:
        stage.put(**{"admin.override.client.id": "old"})
        stage.until_drained()
        newer = {"name": "c", "connector.class": "shares", "admin.override.client.id": "new"}
        write(cluster, connector_record("c", newer))
        stage.worker.confirm()
        assign(stage, 0, 0)
        stage.until_drained()

    named = [made.properties["client.id"] for made in cluster.made if "client.id" in made.properties]
    assert set(named) == {"old"}


def test_a_task_of_a_generation_the_topic_has_replaced_does_not_start() -> None:
    cluster, connector = FakeCluster(), SharesConnector("a")
    with WorkerHarness(connector, cluster, exactly_once_source_support="disabled") as stage:
        stage.put()
        stage.put()
        stage.until_drained()
        connector.started.clear()
        assign(stage, 0, 0)
        (task,) = stage.until_ended()

    assert (task.superseded, connector.started) == (True, [])
    assert "was fenced by generation 1" in str(task.error)


def test_a_task_the_topic_has_no_configuration_for_fails() -> None:
    with WorkerHarness(SharesConnector("a"), exactly_once_source_support="disabled") as stage:
        stage.put()
        assign(stage, 0, 7)
        (task,) = stage.until_ended()

    assert task.state is TaskState.FAILED
    assert "task c-7 cannot start: the config topic has no complete configuration" in str(task.error)


@pytest.mark.parametrize("share", [5, None, True], ids=repr)
def test_a_task_configuration_that_is_no_text_is_refused(share: object) -> None:
    """The topic would give it back as text: the task would get something else than its connector said."""
    with (
        WorkerHarness(SharesConnector(share)) as stage,
        pytest.raises(ConfigError, match=r"has 'share' as .*must be text"),
    ):
        stage.put()

    assert stage.steps(None) == [TaskStep.CLAIM_LEADERSHIP]


@pytest.mark.parametrize(
    ("returned", "kind"),
    [(None, "NoneType"), ({"share": "a"}, "dict"), (["share"], "list"), ("share", "str"), (7, "int")],
    ids=repr,
)
def test_task_configs_that_are_no_list_of_mappings_are_refused_by_name(returned: Any, kind: str) -> None:
    """A forgotten `return`, say, or the mapping of a single task."""

    class Wrong(SharesConnector):
        def task_configs(self, config: Config, max_tasks: int) -> Any:
            return returned

    with (
        WorkerHarness(Wrong()) as stage,
        pytest.raises(ConfigError, match=rf"connector c: task_configs returned a {kind}; it must return a list of map"),
    ):
        stage.put()


def test_a_task_configuration_that_utf8_cannot_hold_is_refused() -> None:
    """The name of a file that is not in the file system's encoding comes so from Python; no topic can hold it."""
    with (
        WorkerHarness(SharesConnector("b\udce4r")) as stage,
        pytest.raises(ConfigError, match=r"connector c: its configuration of task 0 has 'share' with a half surrogate"),
    ):
        stage.put()


@pytest.mark.parametrize(("name", "topic"), [("c", "t\udce4"), ("c\udce4", "t")], ids=ascii)
def test_a_connector_that_utf8_cannot_hold_is_refused(name: str, topic: str) -> None:
    with (
        WorkerHarness(SharesConnector("a")) as stage,
        pytest.raises(ConfigError, match=r"has a half surrogate, which no topic can hold") as refused,
    ):
        stage.put(name, topic=topic)

    assert str(refused.value).isascii()
    assert stage.steps(None) == [TaskStep.CLAIM_LEADERSHIP]


def test_a_misspelt_property_is_named_with_the_line_of_the_connector_that_asks_for_it() -> None:
    class Misspelling(SharesConnector):
        def task_configs(self, config: Config, max_tasks: int) -> Sequence[Mapping[str, str]]:
            return [{"topic": config["topics"]}]

    with (
        WorkerHarness(Misspelling()) as stage,
        pytest.raises(ConfigError, match=r"no property 'topics'; there are: .*topic.*\(in task_configs, .*test_"),
    ):
        stage.put()


TOO_MANY = (
    "The connector c has generated 3 tasks, which is greater than 2, the maximum number of tasks it is configured to "
    "create. This behaviour should be considered a bug and is disallowed. If necessary, it can be permitted by "
    "reconfiguring the connector with 'tasks.max.enforce' set to false; however, this option will be removed in a "
    "future release of Kafka Connect."
)


def test_a_connector_that_splits_its_work_into_too_many_tasks_is_refused() -> None:
    """TPC-08: with Kafka Connect's text, before anything is written."""
    with WorkerHarness(SharesConnector(*"abc")) as stage:
        with pytest.raises(ConfigError) as refused:
            stage.put(tasks_max="2")
        assert stage.cluster.committed("g-configs") == []

    assert str(refused.value) == TOO_MANY


def test_too_many_tasks_run_if_they_are_not_forbidden(caplog: pytest.LogCaptureFixture) -> None:
    """TPC-08: with a warning."""
    connector = SharesConnector(*"abc")
    with WorkerHarness(connector) as stage:
        stage.put(tasks_max="2", tasks_max_enforce="false")
        stage.until_drained()

    assert sorted(connector.started) == ["a", "b", "c"]
    assert "The connector c has generated 3 tasks, which is greater than 2" in caplog.text


def test_tasks_beyond_the_limit_that_another_worker_wrote_fail() -> None:
    """TPC-08: as those of a Kafka Connect that did not enforce it."""
    cluster, connector = FakeCluster(), SharesConnector("planned")
    with WorkerHarness(connector, cluster) as stage:
        stage.put()
        stage.until_drained()
        properties = {"name": "c", "connector.class": "shares", "tasks.max": "2"}
        write(cluster, connector_record("c", properties), *task_records("c", [{"share": one} for one in "xyz"]))
        stage.worker._leader.fence_zombies("c", 1)
        assign(stage, 1, 1)
        [status] = stage.until_ended()

    assert status.state is TaskState.FAILED
    assert str(status.error) == TOO_MANY


def test_a_task_fails_where_its_connector_is_installed_in_another_version() -> None:
    """TPC-11: the leader's version fitted, that of the worker which runs the task does not."""
    cluster, connector = FakeCluster(), SharesConnector("a")
    type(connector).version = "1.5"
    try:
        with WorkerHarness(connector, cluster) as stage:
            stage.put(connector_plugin_version="[1.0,2.0)")
            stage.until_drained()
            properties = {"name": "c", "connector.class": "shares", "connector.plugin.version": "[2.0,)"}
            write(cluster, connector_record("c", properties), *task_records("c", [{"share": "x"}]))
            stage.worker._leader.fence_zombies("c", 1)
            assign(stage, 1, 0)
            [status] = stage.until_ended()
    finally:
        type(connector).version = None

    assert str(status.error) == (
        "connector.plugin.version: Plugin shares has version 1.5 which does not match the required version range [2.0,)"
    )
