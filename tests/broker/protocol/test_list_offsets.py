"""ListOffsets answers as Kafka does, for timestamps and special values (KIP-734, KIP-405)."""

from __future__ import annotations

import time

import pytest

from conformance.calls import Caller
from eosfw.ids import TopicPartition
from eosfw_memory.client.transport.apis import Fields
from eosfw_memory.common.codes import Code
from eosfw_memory.storage.records.codec import encode_batch

LIST_OFFSETS, DELETE_RECORDS = 2, 21
LATEST, EARLIEST, NEWEST, EARLIEST_HERE, LATEST_ELSEWHERE = -1, -2, -3, -4, -5
NOTHING = (Code.NONE, -1, -1)
UNSUPPORTED = (Code.UNSUPPORTED_VERSION, -1, -1)


@pytest.fixture
def topic(new_topic):
    return new_topic()


@pytest.fixture
def now_ms():
    return int(time.time() * 1000)


def append(raw, topic, *timestamps, transactional_id=None, **producer):
    batch = encode_batch(None, [b"v"] * len(timestamps), list(timestamps), **producer)
    assert raw.produce(topic, batch, transactional_id=transactional_id) == Code.NONE


def wanted(timestamp, partition=0):
    return Fields(partition_index=partition, timestamp=timestamp, current_leader_epoch=-1)


def asked(raw, topic, *partitions, version=10, committed=False):
    """Code, timestamp, offset of each partition."""
    topics = [Fields(name=topic, partitions=list(partitions))]
    answer = raw.ask(LIST_OFFSETS, version, replica_id=-1, isolation_level=committed, timeout=1000, topics=topics)
    return [(each["error_code"], each["timestamp"], each["offset"]) for each in answer["topics"][0]["partitions"]]


def test_the_largest_timestamp_leads_to_the_first_record_that_has_it(raw, topic, now_ms):
    """KIP-734."""
    append(raw, topic, now_ms - 5000, now_ms - 1000, now_ms - 3000)
    append(raw, topic, now_ms - 2000, now_ms - 1000)

    assert asked(raw, topic, wanted(NEWEST)) == [(Code.NONE, now_ms - 1000, 1)]


def test_a_log_without_records_has_no_newest_one(raw, topic):
    assert asked(raw, topic, wanted(NEWEST)) == [NOTHING]


def test_all_records_are_local_and_none_are_tiered(raw, topic, now_ms):
    """KIP-405: as with remote storage switched off."""
    append(raw, topic, now_ms, now_ms)
    where = [Fields(name=topic, partitions=[Fields(partition_index=0, offset=1)])]
    [deleted] = raw.ask(DELETE_RECORDS, 2, topics=where, timeout=20_000)["topics"]
    assert deleted["partitions"][0]["error_code"] == Code.NONE

    assert asked(raw, topic, wanted(EARLIEST_HERE)) == [(Code.NONE, -1, 1)]
    assert asked(raw, topic, wanted(LATEST_ELSEWHERE)) == [NOTHING]


@pytest.mark.parametrize(
    ("timestamp", "since"),
    [(NEWEST, 7), (EARLIEST_HERE, 8), (LATEST_ELSEWHERE, 9), (-6, 11), (-7, 11), (-(2**63), 11)],
)
def test_a_special_timestamp_is_refused_before_its_request_version(raw, topic, timestamp, since):
    """CMP-01: no time is as early, so it would be answered wrongly without a word."""
    for version in range(1, 11):
        refused = asked(raw, topic, wanted(timestamp), version=version) == [UNSUPPORTED]
        assert refused == (version < since), version


def test_the_newest_timestamp_appears_once_its_transaction_is_decided(cluster, raw, topic, now_ms):
    """CON-01: the marker is the newest record then."""
    caller, where = Caller(cluster.bootstrap_servers), TopicPartition(topic, 0)
    caller.warm_up(topic, where)
    writer = caller.init(topic).producer
    assert caller.add(topic, writer, where).code is Code.NONE
    append(raw, topic, now_ms - 3000)
    append(raw, topic, now_ms - 2000, transactional_id=topic, producer=writer, base_sequence=0, transactional=True)

    assert asked(raw, topic, wanted(NEWEST)) == [(Code.NONE, now_ms - 2000, 1)]
    assert asked(raw, topic, wanted(NEWEST), committed=True) == [NOTHING]

    assert caller.end(topic, writer, 4).code is Code.NONE
    caller.settled(topic)
    caller.close()
    [(code, timestamp, offset)] = asked(raw, topic, wanted(NEWEST), committed=True)
    assert (code, offset) == (Code.NONE, 2)
    assert timestamp > now_ms - 2000


def test_a_partition_named_twice_is_refused_once_and_no_other(raw, new_topic):
    topic = new_topic(2)

    found = asked(raw, topic, wanted(LATEST), wanted(LATEST, 1), wanted(EARLIEST))

    assert sorted(found) == [(Code.NONE, -1, 0), (Code.INVALID_REQUEST, -1, -1)]
