"""Topics accept the properties of Kafka 4.1 and apply them."""

from __future__ import annotations

import uuid

import pytest

from eosfw.ids import TopicPartition
from eosfw_memory.client.transport.apis import Fields
from eosfw_memory.common.codes import Code
from eosfw_memory.storage.cleaner.compaction import compact
from eosfw_memory.storage.log.partition_log import PartitionLog
from eosfw_memory.storage.log.topic_config import log_config
from eosfw_memory.storage.records.codec import encode_batch

DESCRIBE, DELETE_RECORDS = 32, 21
DEFAULT = 5

POSSIBLE = (
    {"remote.storage.enable": "false"},
    {"remote.log.copy.disable": "true"},
    {"remote.log.delete.on.disable": "true"},
    {"local.retention.ms": "-2"},
    {"local.retention.bytes": "5"},
    {"compression.gzip.level": "-1"},
    {"compression.gzip.level": "9"},
    {"compression.lz4.level": "17"},
    {"compression.zstd.level": "-131072"},
    {"follower.replication.throttled.replicas": "*"},
    {"leader.replication.throttled.replicas": "1:2,3:4"},
    {"follower.replication.throttled.replicas": ""},
    {"internal.segment.bytes": "100"},
    {"cleanup.policy": ""},
    {"cleanup.policy": " delete , compact "},
    {"retention.ms": " 5 "},
    {"preallocate": "TRUE"},
    {"message.timestamp.type": " CreateTime"},
    {"segment.bytes": "1048576"},
)
IMPOSSIBLE = (
    {"no.such": "1"},
    {"message.format.version": "3.0"},
    {"remote.storage.enable": "true"},
    {"local.retention.ms": "-3"},
    {"compression.gzip.level": "0"},
    {"compression.gzip.level": "10"},
    {"compression.lz4.level": "0"},
    {"compression.zstd.level": "23"},
    {"compression.type": "GZIP"},
    {"follower.replication.throttled.replicas": "x"},
    {"segment.bytes": "100"},
    {"segment.bytes": "1048575"},
    {"cleanup.policy": ","},
    {"cleanup.policy": "delete,"},
    {"cleanup.policy": "COMPACT"},
    {"message.timestamp.type": "logappendtime"},
    {"min.compaction.lag.ms": "100", "max.compaction.lag.ms": "10"},
    {"min.cleanable.dirty.ratio": "1.1"},
    {"min.cleanable.dirty.ratio": "half"},
    {"max.compaction.lag.ms": "0"},
    {"retention.ms": "-2"},
)


def created(raw, config):
    return raw.create_topic(f"t-{uuid.uuid4().hex[:8]}", validate_only=True, **config)


@pytest.mark.parametrize(("configs", "code"), [(POSSIBLE, Code.NONE), (IMPOSSIBLE, Code.INVALID_CONFIG)])
def test_valid_topic_properties_are_accepted_and_invalid_ones_refused(admin, raw, configs, code):
    """CMP-01."""
    assert [config for config in configs if created(raw, config) != code] == []


def test_every_property_has_kafkas_name_and_default_and_type(raw, new_topic):
    """CMP-01: those of 4.1, one by one, on both brokers."""
    topic = new_topic()
    wanted = [Fields(resource_type=2, resource_name=topic, configuration_keys=None)]
    [answer] = raw.ask(DESCRIBE, 4, resources=wanted, include_synonyms=False, include_documentation=False)["results"]

    assert {each["name"]: (each["value"], each["config_type"]) for each in answer["configs"]} == DEFAULTS


LONG = str(2**63 - 1)
DEFAULTS = {
    "cleanup.policy": ("delete", 7),
    "compression.gzip.level": ("-1", 3),
    "compression.lz4.level": ("9", 3),
    "compression.type": ("producer", 2),
    "compression.zstd.level": ("3", 3),
    "delete.retention.ms": ("86400000", 5),
    "file.delete.delay.ms": ("60000", 5),
    "flush.messages": (LONG, 5),
    "flush.ms": (LONG, 5),
    "follower.replication.throttled.replicas": ("", 7),
    "index.interval.bytes": ("4096", 3),
    "leader.replication.throttled.replicas": ("", 7),
    "local.retention.bytes": ("-2", 5),
    "local.retention.ms": ("-2", 5),
    "max.compaction.lag.ms": (LONG, 5),
    "max.message.bytes": ("1048588", 3),
    "message.timestamp.after.max.ms": ("3600000", 5),
    "message.timestamp.before.max.ms": (LONG, 5),
    "message.timestamp.type": ("CreateTime", 2),
    "min.cleanable.dirty.ratio": ("0.5", 6),
    "min.compaction.lag.ms": ("0", 5),
    "min.insync.replicas": ("1", 3),
    "preallocate": ("false", 1),
    "remote.log.copy.disable": ("false", 1),
    "remote.log.delete.on.disable": ("false", 1),
    "remote.storage.enable": ("false", 1),
    "retention.bytes": ("-1", 5),
    "retention.ms": ("604800000", 5),
    "segment.bytes": ("1073741824", 3),
    "segment.index.bytes": ("10485760", 3),
    "segment.jitter.ms": ("0", 5),
    "segment.ms": ("604800000", 5),
    "unclean.leader.election.enable": ("false", 1),
}


def test_a_batch_larger_than_a_segment_is_refused(raw, new_topic):
    """CMP-01: it would fit in no file."""
    topic = new_topic(**{"segment.bytes": "1048576", "max.message.bytes": "3000000"})

    codes = [raw.produce(topic, encode_batch(None, [bytes(size)], 1)) for size in (1_500_000, 1_000_000)]

    assert codes == [Code.RECORD_LIST_TOO_LARGE, Code.NONE]


def test_records_of_a_compacted_topic_cannot_be_deleted(raw, new_topic):
    """BRK-09: an empty `cleanup.policy` is not `delete`."""
    topic = new_topic(**{"cleanup.policy": ""})

    wanted = [Fields(name=topic, partitions=[Fields(partition_index=0, offset=0)])]
    answer = raw.ask(DELETE_RECORDS, 2, topics=wanted, timeout=20_000)

    assert answer["topics"][0]["partitions"][0]["error_code"] == Code.POLICY_VIOLATION


# --- when a log is compacted


def written(config, *times):
    """A compacted log with one record of one key in each segment, as its properties say."""
    log = PartitionLog(TopicPartition("t", 0), log_config({"cleanup.policy": "compact", **config}))
    for moment in times:
        log.append(encode_batch([b"k"], [b"v"], moment), moment)
    return log


EACH = {"internal.segment.bytes": "80"}
"""So small that each batch has a segment of its own."""


def records(log):
    return sum(1 for _ in log.batches())


def test_a_record_is_compacted_once_it_has_waited_long_enough():
    """BRK-09: however little there is to gain (`min.cleanable.dirty.ratio`), KIP-354."""
    log = written({**EACH, "max.compaction.lag.ms": "1000"}, 0, 0, 0, 2000)
    assert compact(log, 999)
    cleaned = log.first_dirty_offset
    log.update_config(
        log_config(
            {"cleanup.policy": "compact", **EACH, "max.compaction.lag.ms": "1000", "min.cleanable.dirty.ratio": "1"}
        )
    )
    for _ in range(2):
        log.append(encode_batch([b"k"], [b"w"], 2000), 2000)

    assert not compact(log, 2999)
    assert log.first_dirty_offset == cleaned
    assert compact(log, 3001)
    assert log.first_dirty_offset > cleaned


def test_a_compacted_log_ends_a_segment_early_enough_for_the_longest_wait():
    """KIP-354: the segment that is written to is never compacted."""
    log = written({"max.compaction.lag.ms": "1000"}, 0, 999)
    assert len(log.rolled_segments()) == 0

    log.append(encode_batch([b"k"], [b"v"], 1000), 1000)

    assert len(log.rolled_segments()) == 1


def test_a_record_is_not_compacted_before_its_shortest_wait():
    """BRK-09: `min.compaction.lag.ms`."""
    log = written({**EACH, "min.compaction.lag.ms": "1000"}, 0, 500, 600)

    assert not compact(log, 999)
    assert compact(log, 1000)
    assert log.first_dirty_offset == 1
    assert compact(log, 1500)
    assert log.first_dirty_offset == 2


def test_a_log_is_compacted_only_when_enough_of_it_is_dirty():
    """BRK-09: `min.cleanable.dirty.ratio`."""
    log = written({**EACH, "min.cleanable.dirty.ratio": "0.5"}, 0, 0)
    assert compact(log, 1)
    for _ in range(2):
        log.append(encode_batch([b"k"], [b"v"], 1), 1)
    assert compact(log, 1)  # two of three segments are dirty

    log.update_config(log_config({"cleanup.policy": "compact", **EACH, "min.cleanable.dirty.ratio": "0.9"}))
    log.append(encode_batch([b"k"], [b"v"], 1), 1)
    assert not compact(log, 1)
