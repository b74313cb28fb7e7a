"""A read that waits on an open transaction names who holds it and how to end it, on every client."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from eosfw.concurrency import ThreadRuntime
from eosfw.errors import ReadStalledError
from eosfw.ids import TopicPartition
from eosfw.protocols import Backend, IsolationLevel, NewTopic
from eosfw.records import OffsetRange, ProducerRecord
from eosfw.registry import load_plugins
from eosfw.runtime.storage.config_topic import ConfigTopic
from eosfw.runtime.storage.offset_storage_reader import OffsetStorageReader
from eosfw.runtime.storage.stalled_read import stalls_explained
from eosfw_memory.cluster import EmbeddedCluster

RUNTIME = ThreadRuntime()
WAIT = 30.0
OFFSET = ProducerRecord("offsets", b'{"position":1}', b'["orders",{"file":"a"}]', partition=0)
CONFIG = ProducerRecord("configs", b'{"properties":{}}', b"connector-orders", partition=0)


@pytest.fixture(params=["memory", "confluent", "kafka-python"])
def backend(request) -> Iterator[Backend]:
    cluster = EmbeddedCluster.start({}, RUNTIME)
    backend = load_plugins().backend(request.param).connect({"bootstrap.servers": cluster.bootstrap_servers}, RUNTIME)
    with closing(backend.admin()) as admin:
        admin.create_topics([NewTopic("offsets"), NewTopic("configs")])
    with closing(backend.producer("earlier")) as producer:
        producer.init_transactions(WAIT)
        producer.begin_transaction()
        producer.send(OFFSET)
        producer.send(CONFIG)
        producer.commit_transaction(WAIT)
    yield backend
    backend.close()
    cluster.close()


def open_transaction(backend: Backend, transactional_id: str, record: ProducerRecord) -> None:
    producer = backend.producer(transactional_id)
    producer.init_transactions(WAIT)
    producer.begin_transaction()
    producer.send(record)
    producer.flush(WAIT)


def read_offsets_topic(backend: Backend) -> None:
    with (
        stalls_explained(backend, "group"),
        closing(backend.admin()) as admin,
        closing(backend.reader(IsolationLevel.READ_COMMITTED)) as reader,
    ):
        # What is committed first, so that the half second is the stall's alone: to connect may take as long.
        list(reader.read({TopicPartition("offsets", 0): OffsetRange(0, 1)}, WAIT))
        list(OffsetStorageReader(admin, reader, "x=y", stall_timeout=0.5).read("offsets"))


def test_the_id_the_task_and_the_command_are_named(backend) -> None:
    open_transaction(backend, "group-orders-3", OFFSET)

    with pytest.raises(ReadStalledError) as stalled:
        read_offsets_topic(backend)

    text = str(stalled.value)
    if backend.capabilities.describe_transactions:
        assert "'group-orders-3', task orders-3," in text
        assert text.endswith("eosfw txn fence group-orders-3")
    else:
        assert "of connector 'orders', so a transactional id group-orders-N" in text
        assert "eosfw txn list --state Ongoing" in text


def test_a_stalled_config_topic_names_the_leader(backend) -> None:
    open_transaction(backend, "connect-cluster-group", CONFIG)
    topic = ConfigTopic(backend, "configs", IsolationLevel.READ_COMMITTED, RUNTIME, group_id="group")

    topic.read_decided(WAIT)
    with pytest.raises(ReadStalledError, match="eosfw txn fence connect-cluster-group") as stalled:
        topic.read_to_end(0.5)

    assert "leader" in str(stalled.value)


def test_an_id_of_another_program_is_said_to_be_one(backend) -> None:
    open_transaction(backend, "stranger", OFFSET)

    with pytest.raises(ReadStalledError) as stalled:
        read_offsets_topic(backend)

    known = "'stranger', of another program," if backend.capabilities.describe_transactions else "of connector 'orders'"
    assert known in str(stalled.value)
