"""A broker without properties has Kafka's."""

from __future__ import annotations

import pytest

from eosfw.errors import ConfigError
from eosfw_memory.server.broker.settings import Settings

# Written down a second time, from Kafka's documentation.
KAFKAS = {
    "transactional.id.expiration.ms": "604800000",
    "transaction.remove.expired.transaction.cleanup.interval.ms": "3600000",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "10000",
    "transaction.max.timeout.ms": "900000",
    "transaction.state.log.num.partitions": "50",
    "offsets.topic.num.partitions": "50",
    "offsets.retention.minutes": "10080",
    "producer.id.expiration.ms": "86400000",
    "producer.id.expiration.check.interval.ms": "600000",
    "log.retention.check.interval.ms": "300000",
    "log.cleaner.backoff.ms": "15000",
}


@pytest.mark.parametrize("name", KAFKAS)
def test_settings_default_to_kafkas_and_given_values_replace_them(name: str) -> None:
    """COR-17."""
    assert Settings.parse({}).described()[name] == KAFKAS[name]
    assert Settings.parse({name: "7"}).described()[name] == "7"


@pytest.mark.parametrize(
    ("given", "defaults"),
    [
        ({}, {}),
        ({"message.max.bytes": "100"}, {"max.message.bytes": "100"}),
        ({"log.segment.bytes": "2000000"}, {"segment.bytes": "2000000"}),
        ({"log.roll.hours": "2"}, {"segment.ms": "7200000"}),
        ({"log.roll.hours": "2", "log.roll.ms": "5"}, {"segment.ms": "5"}),
        ({"log.retention.bytes": "-1"}, {"retention.bytes": "-1"}),
        ({"log.retention.hours": "1"}, {"retention.ms": "3600000"}),
        ({"log.retention.hours": "1", "log.retention.minutes": "1"}, {"retention.ms": "60000"}),
        ({"log.retention.minutes": "1", "log.retention.ms": "7"}, {"retention.ms": "7"}),
        ({"log.retention.hours": "-1"}, {"retention.ms": "-1"}),
        ({"log.message.timestamp.after.max.ms": "5"}, {"message.timestamp.after.max.ms": "5"}),
    ],
)
def test_a_broker_property_is_the_default_of_topics(given, defaults):
    """As in Kafka: of retention the finest unit wins."""
    assert Settings.parse(given).topic_defaults == defaults


@pytest.mark.parametrize("name", ["log.retention.ms", "log.retention.minutes", "log.retention.hours"])
def test_a_retention_of_zero_is_refused(name):
    """Kafka takes -1 for no limit, never 0."""
    with pytest.raises(ConfigError, match=rf"{name} must be unlimited \(-1\) or, equal or greater than 1"):
        Settings.parse({name: "0"})


def test_kip_98s_name_of_the_maximum_timeout_is_accepted():
    """KIP-98 calls it max.transaction.timeout.ms, Kafka transaction.max.timeout.ms."""
    assert Settings.parse({"max.transaction.timeout.ms": "7"}).transactions.max_timeout_ms == 7
    both = {"max.transaction.timeout.ms": "7", "transaction.max.timeout.ms": "7"}
    assert Settings.parse(both).described()["transaction.max.timeout.ms"] == "7"


def test_two_names_of_one_property_that_contradict_each_other_are_refused():
    """Neither silently wins."""
    both = {"max.transaction.timeout.ms": "7", "transaction.max.timeout.ms": "8"}
    with pytest.raises(ConfigError, match=r"max.transaction.timeout.ms=7 contradicts transaction.max.timeout.ms=8"):
        Settings.parse(both)
