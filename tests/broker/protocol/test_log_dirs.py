"""DescribeLogDirs: log directories, their sizes and their free space (KIP-113)."""

from __future__ import annotations

import errno
import shutil
from types import SimpleNamespace as Request

import pytest

from eosfw_memory.common.codes import Code, KafkaError
from eosfw_memory.server.broker.broker import Context
from eosfw_memory.server.protocol.handlers.cluster import describe_log_dirs
from eosfw_memory.storage.records.codec import encode_batch

from ..brokers import started
from ..storage.failing_system import FailingSystem

TOPICS = {"one": 1, "two": 2}


def append(broker, topic, number=0):
    partition = broker.topics.partition(topic, number)
    batch = encode_batch(None, [b"value"], broker.now_ms())
    partition.log.append(batch, broker.now_ms())
    return len(batch)


def described(broker, **wanted):
    """The one directory, with the size of each partition; `wanted` names partitions of topics."""
    named = [Request(topic=topic, partitions=numbers) for topic, numbers in wanted.items()] or None
    answer = broker.serve(describe_log_dirs.handle, Request(topics=named), Context(4))
    assert answer["error_code"] is Code.NONE
    [result] = answer["results"]
    sizes = {
        (topic["name"], each["partition_index"]): each["partition_size"]
        for topic in result["topics"]
        for each in topic["partitions"]
    }
    return result, sizes


def test_every_partition_is_listed_with_its_size_on_disk(tmp_path):
    """KIP-113."""
    broker = started(tmp_path, **TOPICS)
    append(broker, "one")
    append(broker, "two", 1)
    append(broker, "two", 1)
    result, sizes = described(broker)
    assert sizes == {
        (name, n): sum(file.stat().st_size for file in (tmp_path / f"{name}-{n}").glob("*.log"))
        for name, n in (("one", 0), ("two", 0), ("two", 1))
    }
    assert sizes["two", 1] == 2 * sizes["one", 0] > 0
    assert (result["log_dir"], result["error_code"]) == (str(tmp_path), Code.NONE)
    assert result["total_bytes"] == shutil.disk_usage(tmp_path).total
    assert 0 < result["usable_bytes"] <= result["total_bytes"]
    broker.close()


def test_only_requested_existing_entries_are_described():
    """KIP-113: as Kafka, which has no error for the rest; the room that memory has is unknown."""
    broker = started(**TOPICS)
    size = append(broker, "one")
    result, sizes = described(broker, one=[0], two=[1, 7], three=[0])
    assert (result["log_dir"], result["total_bytes"], result["usable_bytes"]) == ("(memory)", -1, -1)
    assert sizes == {("one", 0): size, ("two", 1): 0}


def test_a_failed_log_directory_is_reported_offline(tmp_path):
    """KIP-113: administrators learn of a failed disk from DescribeLogDirs."""
    disk = FailingSystem(errno.ENOSPC)
    broker = started(tmp_path, system=disk, **TOPICS)
    disk.at = disk.writes + 1
    with pytest.raises(KafkaError):
        append(broker, "one")
    result, sizes = described(broker)
    assert (result["error_code"], sizes) == (Code.KAFKA_STORAGE_ERROR, {})
    broker.close()
