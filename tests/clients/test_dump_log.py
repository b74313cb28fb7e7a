"""Kafka's own tool reads the files of a data directory: records, markers, the logs of transactions and of groups."""

from __future__ import annotations

import json
import re
import time

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from .serving import ServedBroker

WAIT = 30.0


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """The directory of a broker that committed with offsets, aborted, then was killed."""
    with ServedBroker(tmp_path_factory.mktemp("served")) as broker:
        servers = {"bootstrap.servers": broker.address, "log_level": 0}
        from confluent_kafka.admin import AdminClient, NewTopic

        admin = AdminClient(servers)
        for done in admin.create_topics([NewTopic(name, 1, 1) for name in ("orders", "payments")]).values():
            done.result(WAIT)
        consumer = Consumer({**servers, "group.id": "bank"})
        producer = Producer({**servers, "transactional.id": "till"})
        producer.init_transactions(WAIT)
        producer.begin_transaction()
        producer.produce("payments", b"committed", partition=0)
        offsets = [TopicPartition("orders", 0, 7)]
        producer.send_offsets_to_transaction(offsets, consumer.consumer_group_metadata(), WAIT)
        producer.commit_transaction(WAIT)
        producer.begin_transaction()
        producer.produce("payments", b"aborted", partition=0)
        producer.flush(WAIT)
        producer.abort_transaction(WAIT)
        consumer.close()
        _join_consumer_group(servers)
        yield broker.data


def _join_consumer_group(servers):
    """Become the member of a consumer group, until it has its partition, then leave."""
    assigned = []
    member = Consumer({**servers, "group.id": "shop", "group.protocol": "consumer"})
    member.subscribe(["orders"], on_assign=lambda _, partitions: assigned.extend(partitions))
    deadline = time.monotonic() + WAIT
    while not assigned:
        member.poll(0.1)
        assert time.monotonic() < deadline
    member.close()


@pytest.fixture
def dump(java, data):
    """What the tool prints of every segment of a topic that holds anything."""

    def run(topic, decoder):
        files = [str(file) for file in sorted(data.glob(f"{topic}-*/*.log")) if file.stat().st_size]
        output = java.run("kafka-dump-log", "--files", ",".join(files), decoder)
        assert output.status == 0, output.err
        assert "isvalid: false" not in output.out
        return output.out

    return run


def payloads(text: str) -> list[dict]:
    """The values that a decoder of the tool prints as JSON."""
    return [json.loads(line)["data"] for line in re.findall(r"payload: (\{.*\})$", text, re.MULTILINE)]


def test_records_lie_with_their_markers_in_one_file(dump):
    """BRK-05: what was written, and how it ended."""
    text = dump("payments", "--print-data-log")

    assert re.findall(r"payload: (\w+)|endTxnMarker: (\w+)", text) == [
        ("committed", ""),
        ("", "COMMIT"),
        ("aborted", ""),
        ("", "ABORT"),
    ]
    assert re.findall(r"producerEpoch: (-?\d+)", text) == ["0"] * 4


def test_the_transaction_log_is_one_that_kafka_can_read(dump):
    """COR-13: each state in turn, by Kafka's numbers."""
    text = dump("__transaction_state", "--transaction-log-decoder")

    assert set(re.findall(r'"transactionalId":"(\w+)"', text)) == {"till"}
    states = [one["transactionStatus"] for one in payloads(text)]
    empty, ongoing, prepare_commit, prepare_abort, complete_commit, complete_abort = range(6)
    steps = [state for state, before in zip(states, [None, *states], strict=False) if state != before]
    assert steps == [
        *(empty, ongoing, prepare_commit, complete_commit),
        *(ongoing, prepare_abort, complete_abort),
    ]


def test_transactional_offsets_are_logged_in_consumer_offsets_with_a_marker(dump):
    """GRP-01: a transactional record of the offset, then the transaction's end."""
    text = dump("__consumer_offsets", "--offsets-decoder")

    (offset,) = (one for one in payloads(text) if "offset" in one)
    assert '{"group":"bank","topic":"orders","partition":0}' in text
    assert offset["offset"] == 7
    assert "endTxnMarker: COMMIT" in text
    assert "isTransactional: true" in text


def test_the_records_of_a_consumer_group_are_some_that_kafka_can_read(dump):
    """GRP-05: a member with its assignment, in the order in which Kafka writes them, then that it left."""
    text = dump("__consumer_offsets", "--offsets-decoder")

    kinds = re.findall(r'"type":"(\d+)","data":\{"groupId":"shop".*payload: (<DELETE>)?', text)
    member = next(one for one in payloads(text) if "subscribedTopicNames" in one)
    current = next(one for one in payloads(text) if "memberEpoch" in one)
    assert kinds == [
        *(("5", ""), ("3", ""), ("7", ""), ("6", ""), ("8", "")),
        *(("8", "<DELETE>"), ("7", "<DELETE>"), ("5", "<DELETE>"), ("3", "")),
    ]
    assert (member["subscribedTopicNames"], member["clientId"]) == (["orders"], "rdkafka")
    assert (current["memberEpoch"], current["state"]) == (1, 0)
    assert [each["partitions"] for each in current["assignedPartitions"]] == [[0]]
