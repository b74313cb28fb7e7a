"""Topics have the broker's properties where they have none of their own."""

from __future__ import annotations

from types import SimpleNamespace as Request

import pytest

from eosfw_memory.common.log_errors import MessageTooLargeError
from eosfw_memory.server.broker.broker import Context
from eosfw_memory.server.protocol.handlers.configs import describe_configs
from eosfw_memory.server.protocol.handlers.topics import create_topics
from eosfw_memory.storage.records.codec import encode_batch

from ..brokers import started

TOPIC, BROKER = 2, 4
OF_TOPIC, OF_BROKER, DEFAULT = 1, 4, 5
GIVEN = {
    "message.max.bytes": "100",
    "log.segment.bytes": str(1 << 20),
    "log.retention.minutes": "1",
    "log.retention.check.interval.ms": "1000",
}


def described(broker, kind, name):
    """Each property with where it comes from."""
    resource = Request(resource_type=kind, resource_name=name, configuration_keys=None)
    [answer] = broker.serve(describe_configs.handle, Request(resources=[resource]), Context(4))["results"]
    return {each["name"]: (each["value"], each["config_source"]) for each in answer["configs"]}


def append(topic, size, now_ms):
    topic.partitions[0].log.append(encode_batch(None, [b"x" * size], now_ms), now_ms)


def test_describe_configs_reports_the_source_of_each_topic_property():
    """DescribeConfigs: the topic's own, the broker's, Kafka's default."""
    broker = started(properties=GIVEN)
    broker.topics.create("t", 1, {"retention.ms": "5"})
    shown = described(broker, TOPIC, "t")
    assert shown["retention.ms"] == ("5", OF_TOPIC)
    assert shown["max.message.bytes"] == ("100", OF_BROKER)
    assert shown["segment.ms"] == ("604800000", DEFAULT)


def test_describe_configs_reports_which_broker_properties_were_set():
    """DescribeConfigs of the broker."""
    shown = described(started(properties=GIVEN), BROKER, "1")
    assert shown["log.retention.minutes"] == ("1", OF_BROKER)
    assert shown["log.retention.hours"] == ("168", DEFAULT)
    assert shown["log.retention.ms"] == (None, DEFAULT)


def test_create_topics_reports_the_source_of_each_property():
    """CreateTopics from version 5 on."""
    topic = Request(name="t", num_partitions=1, replication_factor=1, assignments=(), configs=())
    request = Request(topics=[topic], validate_only=False)
    [answer] = started(properties=GIVEN).serve(create_topics.handle, request, Context(7))["topics"]
    shown = {each["name"]: (each["value"], each["config_source"]) for each in answer["configs"]}
    assert shown["segment.bytes"] == (str(1 << 20), OF_BROKER)


def test_the_brokers_batch_limit_holds_unless_the_topic_has_one(tmp_path):
    """After a restart with another limit, too: what a topic does not say is not kept with it."""
    broker = started(tmp_path, GIVEN)
    small, large = broker.topics.create("small", 1, {}), broker.topics.create("large", 1, {"max.message.bytes": "9999"})
    append(large, 1000, broker.now_ms())
    with pytest.raises(MessageTooLargeError):
        append(small, 1000, broker.now_ms())
    broker.topics.alter(large, {})
    with pytest.raises(MessageTooLargeError):
        append(broker.topics.by_name("large"), 1000, broker.now_ms())
    broker.close()
    again = started(tmp_path, GIVEN | {"message.max.bytes": "5000"})
    append(again.topics.by_name("small"), 1000, again.now_ms())
    again.close()


def test_old_segments_go_by_the_brokers_retention():
    """Looked for as often as the broker's property says."""
    broker = started(properties=GIVEN)
    topic = broker.topics.create("t", 1, {"max.message.bytes": str(1 << 20)})
    for _ in range(3):
        append(topic, 600_000, broker.now_ms())
    log = topic.partitions[0].log
    assert len(log.rolled_segments()) == 2
    broker.jump(59)
    broker.run_due_tasks()
    assert log.log_start_offset == 0
    broker.jump(2)
    broker.run_due_tasks()
    assert log.log_start_offset == 2
