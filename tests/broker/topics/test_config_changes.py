"""Topics get other properties, or more partitions, while they are in use (KIP-339, KIP-195)."""

from __future__ import annotations

import time

import pytest

from eosfw.concurrency import ThreadRuntime
from eosfw_memory.client.transport.apis import Fields
from eosfw_memory.cluster import EmbeddedCluster
from eosfw_memory.common.codes import Code
from eosfw_memory.storage.log.partition_log import PartitionLog
from eosfw_memory.storage.records.codec import encode_batch

from ..groups.group_requests import WAIT, Raw

DESCRIBE, ALTER, GROW, ALTER_SOME = 32, 33, 37, 44
SET, REMOVE, APPEND, SUBTRACT = range(4)
TOPIC, BROKER, LOGGER = 2, 4, 8
GIVEN = 1


def changes(*ops):
    return [Fields(name=name, config_operation=how, value=value) for name, how, value in ops]


def alter(raw, topic, *ops, kind=TOPIC, version=1, validate_only=False):
    wanted = [Fields(resource_type=kind, resource_name=topic, configs=changes(*ops))]
    [answer] = raw.ask(ALTER_SOME, version, resources=wanted, validate_only=validate_only)["responses"]
    return answer["error_code"]


def replace(raw, topic, version=2, **config):
    configs = [Fields(name=name.replace("_", "."), value=value) for name, value in config.items()]
    wanted = [Fields(resource_type=TOPIC, resource_name=topic, configs=configs)]
    [answer] = raw.ask(ALTER, version, resources=wanted, validate_only=False)["responses"]
    return answer["error_code"]


def given(raw, topic):
    """The properties that were set."""
    wanted = [Fields(resource_type=TOPIC, resource_name=topic, configuration_keys=None)]
    [answer] = raw.ask(DESCRIBE, 4, resources=wanted, include_synonyms=False, include_documentation=False)["results"]
    return {each["name"]: each["value"] for each in answer["configs"] if each["config_source"] == GIVEN}


def becomes(raw, topic, **config):
    """Wait until a property has a value: a real Kafka propagates it to one broker after another."""
    expected = {name.replace("_", "."): value for name, value in config.items()}
    deadline = time.monotonic() + WAIT
    while (found := given(raw, topic)) != expected and time.monotonic() < deadline:
        """Asked again at once."""
    return found == expected


def grow(raw, topic, count, assignments=None, *, validate_only=False):
    wanted = [Fields(name=topic, count=count, assignments=assignments)]
    [answer] = raw.ask(GROW, 3, topics=wanted, timeout=20_000, validate_only=validate_only)["results"]
    return answer["error_code"]


def produce(raw, topic, size, partition=0):
    return raw.produce(topic, encode_batch(None, [bytes(size)], 1), partition)


def test_some_properties_change_and_the_others_stay(raw, new_topic):
    """KIP-339."""
    topic = new_topic(**{"retention.ms": "60000", "segment.ms": "5000"})

    code = alter(
        raw, topic, ("retention.ms", SET, "70000"), ("segment.ms", REMOVE, None), ("cleanup.policy", APPEND, "compact")
    )

    assert code == Code.NONE
    assert becomes(raw, topic, retention_ms="70000", cleanup_policy="delete,compact")
    assert alter(raw, topic, ("cleanup.policy", SUBTRACT, "delete")) == Code.NONE
    assert becomes(raw, topic, retention_ms="70000", cleanup_policy="compact")


def test_all_properties_are_replaced(raw, new_topic):
    topic = new_topic(**{"retention.ms": "60000"})

    assert replace(raw, topic, segment_ms="5000") == Code.NONE

    assert becomes(raw, topic, segment_ms="5000")


def test_a_topic_applies_changed_properties_to_new_batches(raw, new_topic, until):
    topic = new_topic()
    assert produce(raw, topic, 1000) == Code.NONE

    assert alter(raw, topic, ("max.message.bytes", SET, "500")) == Code.NONE

    until(lambda: produce(raw, topic, 1000) == Code.MESSAGE_TOO_LARGE)  # a real Kafka shows it before it obeys it
    assert becomes(raw, topic, max_message_bytes="500")


def test_validate_only_changes_nothing(raw, new_topic):
    topic = new_topic()

    assert alter(raw, topic, ("retention.ms", SET, "5"), validate_only=True) == Code.NONE
    assert grow(raw, topic, 5, validate_only=True) == Code.NONE

    assert given(raw, topic) == {}
    assert grow(raw, topic, 2) == Code.NONE


@pytest.mark.parametrize(
    ("op", "code"),
    [
        (("retention.ms", SET, None), Code.INVALID_REQUEST),
        (("retention.ms", SET, "abc"), Code.INVALID_CONFIG),
        (("no.such", SET, "1"), Code.INVALID_CONFIG),
        (("no.such", REMOVE, None), Code.NONE),
        (("retention.ms", APPEND, "5"), Code.INVALID_CONFIG),
        (("cleanup.policy", APPEND, "delete"), Code.NONE),
        (("cleanup.policy", APPEND, "never"), Code.INVALID_CONFIG),
        (("cleanup.policy", APPEND, ""), Code.INVALID_CONFIG),
        (("cleanup.policy", SUBTRACT, ""), Code.NONE),
        (("cleanup.policy", SUBTRACT, None), Code.INVALID_REQUEST),
        (("segment.bytes", SET, "100"), Code.INVALID_CONFIG),
        (("retention.ms", 7, "5"), Code.UNKNOWN_SERVER_ERROR),
    ],
)
def test_impossible_changes_are_refused(raw, new_topic, op, code):
    topic = new_topic()

    assert alter(raw, topic, op) == code
    assert set(given(raw, topic)) <= {"cleanup.policy"}


@pytest.mark.parametrize(
    ("kind", "name", "op", "code"),
    [
        (TOPIC, "no-such-topic", ("retention.ms", SET, "5"), Code.UNKNOWN_TOPIC_OR_PARTITION),
        (TOPIC, "no such", ("retention.ms", SET, "5"), Code.INVALID_TOPIC_EXCEPTION),
        (TOPIC, "", ("retention.ms", SET, "5"), Code.INVALID_REQUEST),
        (BROKER, "9", ("log.retention.ms", SET, "5"), Code.INVALID_REQUEST),
        (BROKER, "1", ("transaction.max.timeout.ms", SET, "5"), Code.INVALID_REQUEST),
        (LOGGER, "1", ("no.such.logger", SET, "DEBUG"), Code.INVALID_CONFIG),
        (7, "x", ("a", SET, "b"), Code.INVALID_REQUEST),
    ],
)
def test_config_changes_of_anything_but_topics_are_refused(admin, raw, kind, name, op, code):
    assert alter(raw, name, op, kind=kind) == code


def test_a_duplicate_entry_in_a_request_is_refused(raw, new_topic):
    topic = new_topic()
    assert alter(raw, topic, ("retention.ms", SET, "5"), ("retention.ms", SET, "6")) == Code.INVALID_REQUEST

    once = Fields(resource_type=TOPIC, resource_name=topic, configs=changes(("retention.ms", SET, "5")))
    answers = raw.ask(ALTER_SOME, 1, resources=[once, once], validate_only=False)["responses"]
    assert [each["error_code"] for each in answers] == [Code.INVALID_REQUEST] * 2

    more = Fields(name=topic, count=3, assignments=None)
    answers = raw.ask(GROW, 3, topics=[more, more], timeout=20_000, validate_only=False)["results"]
    assert [each["error_code"] for each in answers] == [Code.INVALID_REQUEST]


@pytest.mark.parametrize(
    ("count", "assignments", "code"),
    [
        (2, None, Code.INVALID_PARTITIONS),
        (1, None, Code.INVALID_PARTITIONS),
        (-1, None, Code.INVALID_PARTITIONS),
        (4, [(1,), (1,)], Code.NONE),
        (4, [(1,)], Code.INVALID_REPLICA_ASSIGNMENT),
        (3, [(9,)], Code.INVALID_REPLICA_ASSIGNMENT),
    ],
)
def test_partitions_only_grow_in_number(raw, new_topic, count, assignments, code):
    """KIP-195."""
    wanted = None if assignments is None else [Fields(broker_ids=ids) for ids in assignments]

    assert grow(raw, new_topic(2), count, wanted) == code


def test_partitions_cannot_be_added_to_a_missing_topic(admin, raw):
    assert grow(raw, "no-such-topic", 3) == Code.UNKNOWN_TOPIC_OR_PARTITION


# --- on the embedded broker alone


def started(root):
    return EmbeddedCluster.start({"log.dirs": str(root)}, ThreadRuntime())


def test_a_config_change_survives_a_restart(tmp_path):
    cluster = started(tmp_path)
    topic = cluster.broker.topics.create("t", 1, {"retention.ms": "60000"})
    raw = Raw(cluster.bootstrap_servers)
    assert produce(raw, "t", 10) == Code.NONE
    assert alter(raw, "t", ("max.message.bytes", SET, "500")) == Code.NONE
    assert grow(raw, "t", 3) == Code.NONE
    assert produce(raw, "t", 10, partition=2) == Code.NONE
    raw.close()
    cluster.close()

    again = started(tmp_path)
    raw = Raw(again.bootstrap_servers)
    assert given(raw, "t") == {"retention.ms": "60000", "max.message.bytes": "500"}
    assert again.broker.topics.by_name("t").topic_id == topic.topic_id
    assert [log.high_watermark for log in again.broker.topics.logs().values()] == [1, 0, 1]
    assert produce(raw, "t", 1000) == Code.MESSAGE_TOO_LARGE
    raw.close()
    again.close()


def test_a_formerly_compacted_topic_is_recovered_under_any_policy(tmp_path):
    """BRK-09: the gaps that compaction left are no damage."""
    from eosfw_memory.storage.cleaner.compaction import compact

    small = {"cleanup.policy": "compact", "internal.segment.bytes": "200", "min.cleanable.dirty.ratio": "0"}
    cluster = started(tmp_path)
    topics = cluster.broker.topics
    log = topics.create("t", 1, small).partitions[0].log
    for number in range(9):
        log.append(encode_batch([b"k"], [b"%d" % number], 1), 1)
    assert compact(log, 1)
    topics.alter(topics.by_name("t"), {"cleanup.policy": "delete"})
    batches = list(log.batches())
    cluster.close()

    again = started(tmp_path)
    assert list(again.broker.topics.partition("t", 0).log.batches()) == batches
    again.close()


def test_a_shorter_segment_ms_applies_to_the_active_segment():
    from eosfw.ids import TopicPartition
    from eosfw_memory.storage.log.log_config import LogConfig

    log = PartitionLog(TopicPartition("t", 0), LogConfig(segment_ms=1000))
    log.append(encode_batch(None, [b"a"], 1), 10_000)
    log.update_config(LogConfig(segment_ms=100))

    log.append(encode_batch(None, [b"b"], 1), 10_099)
    assert len(log.rolled_segments()) == 0
    log.append(encode_batch(None, [b"c"], 1), 10_100)
    assert len(log.rolled_segments()) == 1


def test_the_broker_s_own_topics_keep_their_partitions():
    """Stricter than Kafka: groups would be looked for in another place."""
    cluster = EmbeddedCluster.start({}, ThreadRuntime())
    raw = Raw(cluster.bootstrap_servers)
    raw.ask(10, 4, key_type=0, coordinator_keys=["g"])

    assert grow(raw, "__consumer_offsets", 60) == Code.INVALID_REQUEST
    raw.close()
    cluster.close()
