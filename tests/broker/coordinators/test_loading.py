"""A broker answers requests only after it has loaded its logs (COR-01, COR-14, GRP-01)."""

from __future__ import annotations

import select
import socket
import struct
from io import BytesIO

import pytest
from confluent_kafka import Consumer, TopicPartition
from kio.index import load_request_schema, load_response_schema
from kio.schema.errors import ErrorCode
from kio.serial import entity_reader, entity_writer

from eosfw.concurrency import ThreadRuntime
from eosfw_memory.cluster import EmbeddedCluster
from eosfw_memory.server.coordinators.groups.coordinator import GroupCoordinator
from eosfw_memory.server.coordinators.transaction_coordinator import TransactionCoordinator
from ports import free_port

from ..conftest import WAIT, Clients

_LIST_TRANSACTIONS, _LIST_GROUPS = 66, 16
_LENGTH = struct.Struct(">i")


def started(root, port):
    properties = {"log.dirs": str(root), "listeners": f"PLAINTEXT://127.0.0.1:{port}"}
    return EmbeddedCluster.start(properties, ThreadRuntime())


class Waiting:
    """A client that has sent a request."""

    def __init__(self, port: int, key: int, version: int) -> None:
        self.key, self.version = key, version
        schema, out = load_request_schema(key, version), BytesIO()
        header = schema.__header_schema__
        entity_writer(header)(
            out, header(request_api_key=key, request_api_version=version, correlation_id=1, client_id="early")
        )
        empty = {"state_filters": (), "producer_id_filters": ()} if key == _LIST_TRANSACTIONS else {"states_filter": ()}
        entity_writer(schema)(out, schema(**empty))
        self.socket = socket.create_connection(("127.0.0.1", port), WAIT)
        self.socket.sendall(_LENGTH.pack(len(out.getvalue())) + out.getvalue())

    def answered(self) -> bool:
        return bool(select.select([self.socket], [], [], 0.0)[0])

    def answer(self):
        file = self.socket.makefile("rb")
        data = file.read(_LENGTH.unpack(file.read(_LENGTH.size))[0])
        self.socket.close()
        file.close()
        schema = load_response_schema(self.key, self.version)
        _, behind = entity_reader(schema.__header_schema__)(data, 0)
        return entity_reader(schema)(data, behind)[0]


@pytest.mark.parametrize(
    ("coordinator", "key", "version"),
    [(TransactionCoordinator, _LIST_TRANSACTIONS, 1), (GroupCoordinator, _LIST_GROUPS, 4)],
    ids=["transactions", "groups"],
)
def test_requests_wait_until_the_logs_are_replayed(tmp_path, monkeypatch, coordinator, key, version):
    """COR-01: Kafka answers CoordinatorLoadInProgress; this broker accepts connections and answers after loading."""
    port = free_port()
    cluster = started(tmp_path, port)
    clients = Clients(cluster.bootstrap_servers)
    topic, producer = clients.topic(), clients.producer("mover")
    producer.begin_transaction()
    producer.produce(topic, b"v")
    producer.commit_transaction(WAIT)
    commit_offset(cluster, topic)
    cluster.close()
    early, load = [], coordinator.load

    def loading(self, *given):
        early.append(Waiting(port, key, version))
        assert not early[0].answered()
        load(self, *given)
        assert not early[0].answered()

    monkeypatch.setattr(coordinator, "load", loading)
    cluster = started(tmp_path, port)
    answer = early[0].answer()

    assert answer.error_code is ErrorCode.none
    if key == _LIST_TRANSACTIONS:
        assert [each.transactional_id for each in answer.transaction_states] == ["mover"]
    else:
        assert [each.group_id for each in answer.groups] == ["readers"]
    cluster.close()


def commit_offset(cluster, topic):
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap_servers, "group.id": "readers", "log_level": 0})
    consumer.commit(offsets=[TopicPartition(topic, 0, 1)], asynchronous=False)
    consumer.close()
