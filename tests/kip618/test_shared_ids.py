"""Two groups with a common transactional id get an error instead of fencing each other (TXN-01, FEN-01)."""

from __future__ import annotations

import json
import uuid
from contextlib import closing

import pytest

from eosfw.errors import ConfigError, ExitCode
from eosfw.ids import TopicPartition
from eosfw.protocols import NewTopic
from eosfw.records import ProducerRecord
from eosfw.runtime.checks.id_collision_check import initialized_by_other
from eosfw.runtime.storage.topic_creation import COMPACTED, ensure_topic
from eosfw.state.steps import TaskStep

from .group import Group


@pytest.fixture
def name() -> str:
    return f"s{uuid.uuid4().hex[:8]}"


def put(group: Group, connector: str) -> int:
    """Put a connector of this name, which counts for ever."""
    return group.worker.put_connector(connector, {"connector.class": "counting", "topic": group.topic})


def fenced(group: Group) -> int:
    return [event.step for event in group.events].count(TaskStep.FENCED)


def test_a_connector_whose_ids_another_group_uses_is_refused(cluster, name):
    """TXN-01: both groups and both connectors are named; who was there first is not disturbed."""
    with (
        Group(cluster, name) as first,
        Group(cluster, f"{name}-b") as second,
    ):
        put(first, "b-c")
        first.until_step(TaskStep.COMMITTED, 2)
        with pytest.raises(ConfigError) as reported:
            put(second, "c")
        seen = [event.step for event in first.events].count(TaskStep.COMMITTED)
        first.until_step(TaskStep.COMMITTED, seen + 2)

        assert f"connector c: transactional id '{name}-b-c-0' is also that of task 0" in str(reported.value)
        assert f"of connector 'b-c' in group '{name}'" in str(reported.value)
        assert reported.value.exit_code is ExitCode.CONFIGURATION
        assert (fenced(first), second.worker.status().tasks) == (0, ())


def test_ids_of_a_connector_that_was_removed_may_be_used_again(cluster, name):
    """TXN-01, LOG-08: a removed connector has no tasks, so no producer would be fenced."""
    with Group(cluster, name) as first:
        put(first, "b-c")
        first.worker.remove_connector("b-c")
    with Group(cluster, f"{name}-b") as second:
        assert put(second, "c") == 0
        second.until_step(TaskStep.COMMITTED, 2)


def test_a_group_whose_leader_id_equals_a_task_id_is_refused(cluster, name):
    """TXN-01, LDR-01: the other way round."""
    with Group(cluster, "connect") as first:
        put(first, f"cluster-{name}")
        second = Group(cluster, f"{name}-0")
        with closing(second.backend), pytest.raises(ConfigError) as reported:
            second.worker.start()

    assert f"worker: transactional id 'connect-cluster-{name}-0' is also that of task 0" in str(reported.value)
    assert f"of connector 'cluster-{name}' in group 'connect'" in str(reported.value)


def test_a_task_that_another_groups_task_fenced_says_whose_id_it_is(cluster, name):
    """FEN-01: a group that is no eosfw comes later; the first fencing is enough to find it."""
    with Group(cluster, name) as group:
        put(group, "b-c")
        group.until_step(TaskStep.COMMITTED, 2)
        write_as_connect(group, f"{name}-b-configs")
        with closing(group.backend.producer(f"{name}-b-c-0")) as other:
            other.init_transactions(30.0)
        group.until(lambda: bool(group.worker.status().failures), "the failure")

        (task,) = group.worker.status().tasks
        assert isinstance(task.error, ConfigError)
        assert f"'{name}-b-c-0' is also that of task 0 of connector 'c' in group '{name}-b'" in str(task.error)
        assert "transaction.timeout.ms" not in str(task.error)
        assert fenced(group) == 1


def test_a_leader_that_another_groups_task_fenced_says_whose_id_it_is(cluster, name):
    """LDR-04, TXN-01: it claims its privilege again only from leaders of its own group."""
    with Group(cluster, f"{name}-0") as group:
        write_as_connect(group, "connect-configs", f"cluster-{name}")
        with closing(group.backend.producer(f"connect-cluster-{name}-0")) as task:
            task.init_transactions(30.0)
        with pytest.raises(
            ConfigError, match=f"is also that of task 0 of connector 'cluster-{name}' in group 'connect'"
        ):
            put(group, "c")


def write_as_connect(group: Group, topic: str, connector: str = "c") -> None:
    """A config topic with one task of a connector."""
    keys = {f"connector-{connector}": {"properties": {}}, f"task-{connector}-0": {"properties": {}}}
    with closing(group.backend.admin()) as admin, closing(group.backend.producer(None)) as producer:
        ensure_topic(admin, NewTopic(topic, 1, 1, COMPACTED))
        for key, value in {**keys, f"commit-{connector}": {"tasks": 1}}.items():
            producer.send(ProducerRecord(topic, json.dumps(value).encode(), key.encode(), partition=0))
        producer.flush(30.0)


def test_groups_with_separate_config_topics_learn_of_a_shared_id(cluster, name):
    """FEN-01: their config topics have names of their own; the coordinator knows that it was no time-out."""
    hidden = {"config_storage_topic": f"{name}-one"}, {"config_storage_topic": f"{name}-two"}
    with (
        Group(cluster, name, **hidden[0]) as first,
        Group(cluster, f"{name}-b", **hidden[1]) as second,
    ):
        groups = (first, second)
        put(first, "b-c")
        put(second, "c")
        first.until(lambda: any(group.worker.status().failures for group in groups), "the failure of one")

        (failed,) = [task for group in groups for task in group.worker.status().failures]
        other = f"of connector 'c' in group '{name}-b'"
        if failed.id.connector == "c":
            other = f"of connector 'b-c' in group '{name}'"
        assert f"task 0 {other}" in str(failed.error)
        assert f"Somebody else took transactional id '{name}-b-c-0' over" in str(failed.error)
        assert "at last because another client, or an administrator, initialised" in str(failed.error)
        assert "transaction.timeout.ms" not in str(failed.error)


@pytest.mark.describes_transactions
def test_a_timed_out_transaction_is_not_taken_for_another_holders(cluster, name):
    """TXN-10: the coordinator leaves an aborted transaction; another holder leaves none, or its own."""
    group = Group(cluster, name)
    with closing(group.backend), closing(group.backend.admin()) as admin:
        admin.create_topics([NewTopic(group.topic, 1, 1)])
        with closing(group.backend.producer(name, transaction_timeout=1.0)) as slow:
            slow.init_transactions(30.0)
            slow.begin_transaction()
            slow.send(ProducerRecord(group.topic, b"v"))
            slow.flush(30.0)
            group.until(lambda: not list(admin.open_transactions([TopicPartition(group.topic, 0)])), "the time-out")
            timed_out = initialized_by_other(admin.describe_transactions([name])[name])
        with closing(group.backend.producer(name)) as other:
            other.init_transactions(30.0)
            fenced_by_other = initialized_by_other(admin.describe_transactions([name])[name])

    assert (timed_out, fenced_by_other) == (False, True)
