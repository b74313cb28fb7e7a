"""A connector with an offsets topic of its own: created, read before the worker's, copied there (KIP-618)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing

import pytest
from tests.runtime.counting import CountingConnector

from eosfw.config import Config, ConfigDef, String
from eosfw.errors import ConfigError, TaskFailedError
from eosfw.protocols import NewTopic
from eosfw.records import ProducerRecord
from eosfw.runtime.topic_creation import COMPACTED
from eosfw.state.steps import TaskStep

from .group import Group, exactly

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


def until_stored(group: Group, until: int) -> None:
    wanted = {KEY: b'{"next":%d}' % until}
    group.until(lambda: group.latest(own_topic(group)) == wanted, "the offset in the connector's own topic")


def write(group: Group, topic: str, value: bytes | None) -> None:
    """Write an offset as another worker would."""
    with closing(group.backend.admin()) as admin:
        if topic not in admin.partitions([topic]):
            admin.create_topics([NewTopic(topic, 3, 1, COMPACTED)])
    with closing(group.backend.producer(None)) as producer:
        producer.send(ProducerRecord(topic, value, KEY))
        producer.flush(30.0)


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


@pytest.mark.parametrize("support", ["enabled", "disabled"])
def test_an_own_topic_is_used_with_and_without_exactly_once(cluster, support):
    """CFG-03, CFG-09."""
    with Group(cluster, exactly_once_source_support=support, offset_flush_interval_ms="50") as group:
        put_own(group, 5)

        until_stored(group, 5)
        until_copied(group, 5)


def test_a_connector_that_gets_its_own_topic_goes_on_where_it_was(cluster):
    """OFF-08: what the new topic does not have is in the worker's."""
    with Group(cluster) as group:
        group.put(streams="1", until="5", batch="2")
        group.until_drained()
        put_own(group, 9, batch="2")

        assert group.committed() == exactly(1, 9)


def test_an_offset_of_the_own_topic_wins_over_the_workers(cluster):
    """OFF-08."""
    with Group(cluster) as group:
        write(group, worker_topic(group), b'{"next":3}')
        write(group, own_topic(group), b'{"next":7}')
        put_own(group, 9)

        assert group.committed() == [b"s0:7", b"s0:8"]


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
        hanging = group.backend.producer(f"{group.name}-hanging", transaction_timeout=60.0)
        hanging.init_transactions(30.0)
        hanging.begin_transaction()
        hanging.send(ProducerRecord(own_topic(group), b'{"next":8}', KEY))
        hanging.flush(30.0)
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


def test_a_hard_downgrade_goes_on_from_the_copies(cluster):
    """UPG-03: older software knows only the worker's topic."""
    with Group(cluster) as upgraded:
        put_own(upgraded, 5)
    with Group(cluster, upgraded.name, exactly_once_source_support="disabled") as older:
        older.put(streams="1", until="9")
        older.until_drained()
    with Group(cluster, upgraded.name) as after:
        assert after.committed() == exactly(1, 9)
