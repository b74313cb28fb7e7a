"""A task goes on exactly where committed offsets say, even when they are still being committed."""

from __future__ import annotations

import pytest

from eosfw.errors import DamagedDataError
from eosfw.records import ProducerRecord
from eosfw.state.steps import TaskStep

from .group import Group

KEY = b'["c",{"stream":"s0"}]'
FOREIGN = b'["c", {"stream": "s0"}]'
"""The same source partition as another tool might write it."""


def write_offset(
    group: Group,
    value: bytes | None,
    *,
    key: bytes = KEY,
    timestamp: int | None = None,
    transactional_id: str | None = None,
):
    """Write an offset of the counting connector beside its tasks; return a producer whose transaction is open."""
    producer = group.backend.producer(transactional_id)
    if transactional_id is not None:
        producer.init_transactions(30.0)
        producer.begin_transaction()
    producer.send(ProducerRecord(f"{group.name}-offsets", value, key, timestamp=timestamp))
    producer.flush(30.0)
    return producer


def test_a_start_waits_for_offsets_in_an_open_transaction(cluster):
    """OFF-02: to read past it would be to send its records again."""
    with Group(cluster) as group:
        other = write_offset(group, b'{"next":7}', transactional_id=f"{group.name}-other")
        group.put(streams="1", until="10")
        group.until_step(TaskStep.READ_OFFSETS)
        assert not [event for event in group.events if event.step is TaskStep.START_TASK]
        other.commit_transaction(30.0)
        group.until_drained()

        assert group.committed() == [b"s0:7", b"s0:8", b"s0:9"]


@pytest.mark.parametrize("newer", [KEY, FOREIGN])
def test_the_newer_of_two_keys_for_a_source_partition_wins(cluster, newer):
    """OFF-01: the keys lie in different partitions of the topic, which have no common order."""
    older = FOREIGN if newer == KEY else KEY
    with Group(cluster) as group:
        write_offset(group, b'{"next":7}', key=newer, timestamp=2_000).close()
        write_offset(group, b'{"next":3}', key=older, timestamp=1_000).close()
        group.put(streams="1", until="10", batch="3")
        group.until_drained()

        assert group.committed() == [b"s0:7", b"s0:8", b"s0:9"]
        assert group.latest(f"{group.name}-offsets") == {newer: b'{"next":10}', older: None}


def test_aborted_offsets_are_ignored_and_plain_ones_count(cluster):
    """OFF-03: a Java group without exactly-once wrote it, perhaps."""
    with Group(cluster) as group:
        write_offset(group, b'{"next":8}').close()
        aborted = write_offset(group, b'{"next":2}', transactional_id=f"{group.name}-other")
        aborted.abort_transaction(30.0)
        group.put(streams="1", until="10")
        group.until_drained()

        assert group.committed() == [b"s0:8", b"s0:9"]


def test_a_damaged_offset_of_its_own_keeps_a_task_from_starting(cluster):
    """From zero would repeat everything."""
    with Group(cluster) as group:
        write_offset(group, b"damaged").close()
        group.put(streams="1", until="10")
        group.until(lambda: bool(group.worker.status().failures), "the refusal")

        (task,) = group.worker.status().failures
        assert isinstance(task.error, DamagedDataError)
        assert f"topic {group.name}-offsets" in str(task.error)
        assert not [event for event in group.events if event.step is TaskStep.START_TASK]


@pytest.mark.parametrize("partitions", ["1", "4"])
def test_offsets_are_stored_in_the_workers_offsets_topic(cluster, partitions):
    """OFF-01: as many partitions as configured; keys and values of Connect's shape."""
    with Group(cluster, offset_storage_partitions=partitions) as group:
        group.put(streams="1", until="3", batch="3")
        group.until_drained()

        admin = group.backend.admin()
        assert admin.partitions([f"{group.name}-offsets"]) == {f"{group.name}-offsets": int(partitions)}
        assert admin.topic_config(f"{group.name}-offsets")["cleanup.policy"] == "compact"
        admin.close()
        assert group.committed(f"{group.name}-offsets") == [b'{"next":3}']
