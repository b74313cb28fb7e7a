"""A connector with an offsets topic of its own: created, read before the worker's, copied there (KIP-618)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing

import pytest
from tests.runtime.counting import CountingConnector

from eosfw.config import Config, ConfigDef, String
from eosfw.errors import ConfigError, TaskFailedError
from eosfw.protocols import NewTopic, TransactionalProducer
from eosfw.records import ProducerRecord
from eosfw.runtime.checks.upgrade_check import UpgradeCheck, UpgradeFinding, Verdict
from eosfw.runtime.status import TaskState
from eosfw.runtime.storage.topic_creation import COMPACTED
from eosfw.state.steps import TaskStep

from .group import PLUGINS, RUNTIME, Group, exactly

KEY = b'["c",{"stream":"s0"}]'


class Elsewhere(CountingConnector):
    """Its tasks write to another topic than its properties say."""

    config = CountingConnector.config + ConfigDef(String("elsewhere"))

    def task_configs(self, config: Config, max_tasks: int) -> Sequence[Mapping[str, str]]:
        return [{**share, "topic": config["elsewhere"]} for share in super().task_configs(config, max_tasks)]


def own_topic(group: Group) -> str:
    return f"{group.name}-own"


def worker_topic(group: Group) -> str:
    return f"{group.name}-offsets"


def put_own(group: Group, until: int, **more: str) -> None:
    """Run the counting connector to its end, with an offsets topic of its own."""
    group.put(streams="1", until=str(until), offsets_storage_topic=own_topic(group), **more)
    group.until_drained()


def until_copied(group: Group, until: int) -> None:
    wanted = b'{"next":%d}' % until
    group.until(lambda: group.latest(worker_topic(group)).get(KEY) == wanted, "the copy in the worker's topic")


def write(group: Group, topic: str, value: bytes | None) -> None:
    """Write an offset as another worker would."""
    with closing(group.backend.admin()) as admin:
        if topic not in admin.partitions([topic]):
            admin.create_topics([NewTopic(topic, 3, 1, COMPACTED)])
    with closing(group.backend.producer(None)) as producer:
        producer.send(ProducerRecord(topic, value, KEY))
        producer.flush(30.0)


def open_transaction(group: Group, topic: str) -> TransactionalProducer:
    """A producer that has written an offset, and ends its transaction when the test says so."""
    producer = group.backend.producer(f"{group.name}-hanging", transaction_timeout=120.0)
    producer.init_transactions(30.0)
    producer.begin_transaction()
    producer.send(ProducerRecord(topic, b'{"next":8}', KEY))
    producer.flush(30.0)
    return producer


def test_records_and_offsets_commit_to_the_topic_of_the_connector(cluster):
    """CFG-03, OFF-05, OFF-09: created compacted with the worker's partitions; a copy follows in the worker's topic."""
    with Group(cluster, offset_storage_partitions="4") as group:
        put_own(group, 5, batch="2")
        until_copied(group, 5)

        with closing(group.backend.admin()) as admin:
            assert admin.partitions([own_topic(group)]) == {own_topic(group): 4}
            assert admin.topic_config(own_topic(group))["cleanup.policy"] == "compact"
        assert group.committed() == exactly(1, 5)
        assert group.latest(own_topic(group)) == {KEY: b'{"next":5}'}
        (task,) = group.worker.status().tasks
        assert task.offset_backup_failures == 0


def test_a_connector_that_gets_its_own_topic_goes_on_where_it_was(cluster):
    """OFF-08: what the new topic does not have is in the worker's."""
    with Group(cluster) as group:
        group.put(streams="1", until="5", batch="2")
        group.until_drained()
        put_own(group, 9, batch="2")

        assert group.committed() == exactly(1, 9)


def test_a_forgotten_offset_does_not_come_back_from_the_workers_topic(cluster):
    """OFF-10: a late copy of it is deleted at the next start, before compaction takes the null away."""
    with Group(cluster) as group:
        write(group, own_topic(group), None)
        write(group, worker_topic(group), b'{"next":7}')
        gate = group.gates.freeze(TaskStep.START_TASK, task=0)
        group.put(streams="1", until="2", offsets_storage_topic=own_topic(group))
        assert gate.reached.wait(30)
        group.until(lambda: group.latest(worker_topic(group))[KEY] is None, "the deletion of the late copy")
        gate.open()
        group.until_drained()

        assert group.committed() == exactly(1, 2)


@pytest.mark.parametrize("policy", ["delete", "compact,delete"])
def test_an_own_topic_that_is_not_compacted_alone_is_refused_by_name(cluster, policy):
    """CFG-03: its retention would delete offsets; the generation before works on."""
    with Group(cluster) as group:
        group.put(streams="1", until="3")
        group.until_drained()
        with closing(group.backend.admin()) as admin:
            admin.create_topics([NewTopic(own_topic(group), 1, 1, {"cleanup.policy": policy})])

        with pytest.raises(ConfigError, match=f"offsets.storage.topic: topic '{own_topic(group)}' has cleanup.policy="):
            put_own(group, 5)
        assert group.worker.status().connectors["c"].generation == 0


def test_a_record_for_its_own_offsets_topic_fails_the_task(cluster):
    """TXN-15: nothing of that transaction is committed."""
    with Group(cluster, connector=Elsewhere()) as group:
        own = own_topic(group)
        group.put(streams="1", until="5", elsewhere=own, offsets_storage_topic=own)
        group.until(lambda: bool(group.worker.status().failures), "the refusal")

        (task,) = group.worker.status().failures
        assert isinstance(task.error, TaskFailedError)
        assert f"returned a record for '{own}', its own offsets topic" in str(task.error)
        assert group.latest(own) == {}


def test_a_hanging_transaction_of_one_connector_delays_no_other(cluster):
    """OFF-17: it is in the own topic of that connector, which nobody else reads."""
    with Group(cluster) as group:
        write(group, own_topic(group), b'{"next":7}')
        hanging = open_transaction(group, own_topic(group))
        group.put(streams="1", until="3")
        group.until_drained()

        assert group.committed() == exactly(1, 3)
        hanging.abort_transaction(30.0)


def test_soft_downgrade_and_upgrade_lose_and_repeat_nothing(cluster):
    """UPG-02: with exactly-once switched off and on again, clean stops between, the own topic stays in use."""
    until, name = 0, None
    for support in ("enabled", "disabled", "preparing", "enabled"):
        until += 4
        with Group(cluster, name, exactly_once_source_support=support) as group:
            put_own(group, until)
            name = group.name
        with Group(cluster, name) as after:  # a clean stop has committed the last records and offsets
            assert after.committed() == exactly(1, until)
            assert after.latest(own_topic(after)) == after.latest(worker_topic(after)) == {KEY: b'{"next":%d}' % until}


def stale(group: Group) -> list[UpgradeFinding]:
    check = UpgradeCheck(group.worker._config, group.backend, PLUGINS, RUNTIME)
    return [one for one in check.findings() if one.verdict is Verdict.PROBLEM]


def test_a_topic_that_a_hard_downgrade_left_behind_is_found_before_the_next_upgrade(cluster):
    """UPG-03, UPG-04: it would win over newer offsets; without it the connector goes on where the older software was.

    That one went on from the copies: it knows only the worker's topic.
    """
    with Group(cluster) as upgraded:
        put_own(upgraded, 5)
    with Group(cluster, upgraded.name, exactly_once_source_support="disabled") as older:
        older.put(streams="1", until="9")
        older.until_drained()
    with Group(cluster, upgraded.name) as again:
        assert again.committed() == exactly(1, 9)
        again.put(streams="0", offsets_storage_topic=own_topic(again))
        (found,) = stale(again)
        assert found.subject == "connector c"
        assert "{'next': 5}, there {'next': 9}" in found.text
        with closing(again.backend.admin()) as admin:
            assert admin.delete_topics([own_topic(again)]) == {own_topic(again): None}
            again.until(lambda: not admin.partitions([own_topic(again)]), "the deletion")
        assert stale(again) == []
        put_own(again, 12)

        assert again.committed() == exactly(1, 12)


def test_a_topic_that_stays_in_use_is_not_stale(cluster):
    """UPG-04: while copies come, and after a soft downgrade."""
    with Group(cluster) as group:
        put_own(group, 20, batch="2")
        assert stale(group) == []
    with Group(cluster, group.name, exactly_once_source_support="disabled") as older:
        put_own(older, 25)
    with Group(cluster, group.name) as again:
        assert stale(again) == []


@pytest.mark.parametrize("blocked", [own_topic, worker_topic], ids=["own", "worker"])
def test_a_task_that_waits_for_offsets_can_be_cancelled(cluster, blocked):
    """OFF-11, TXN-13: its reads are closed; it does not wait for the transaction that holds it up."""
    with Group(cluster) as group:
        write(group, own_topic(group), b'{"next":7}')
        hanging = open_transaction(group, blocked(group))
        group.put(streams="1", until="9", offsets_storage_topic=own_topic(group))
        group.until_step(TaskStep.READ_OFFSETS)
        group.worker.kill()
        group.until(lambda: group.worker.status().tasks[0].state is TaskState.STOPPED, "the end of the task")

        assert not [event for event in group.events if event.step is TaskStep.START_TASK]
        hanging.close(0)
