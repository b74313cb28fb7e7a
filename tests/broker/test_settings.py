"""A broker without properties has Kafka's."""

from __future__ import annotations

import pytest

from eosfw_memory.settings import Settings

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
def test_a_default_is_kafkas_and_what_is_said_replaces_it(name: str) -> None:
    """COR-17."""
    assert Settings.parse({}).described()[name] == KAFKAS[name]
    assert Settings.parse({name: "7"}).described()[name] == "7"
