"""A broker answers requests only after it has loaded its logs (COR-01, COR-14, GRP-01)."""

from __future__ import annotations

import select

import pytest

from conformance.calls import Caller, commit_plain
from eosfw.concurrency import ThreadRuntime
from eosfw.ids import TopicPartition
from eosfw_memory.cluster import EmbeddedCluster
from eosfw_memory.common.codes import Code
from eosfw_memory.server.coordinators.groups.group_metadata_manager import GroupMetadataManager
from eosfw_memory.server.coordinators.transaction_coordinator import TransactionCoordinator
from ports import free_port

from ..groups.group_requests import Raw

LIST_TRANSACTIONS, LIST_GROUPS = (66, 1), (16, 4)
EVERY = {"state_filters": (), "producer_id_filters": (), "duration_filter": -1, "states_filter": ()}


def answered(raw: Raw) -> bool:
    return bool(select.select([raw._socket], [], [], 0.0)[0])


@pytest.mark.parametrize(
    ("coordinator", "request_name", "found"),
    [
        (TransactionCoordinator, LIST_TRANSACTIONS, ("transaction_states", "transactional_id", "mover")),
        (GroupMetadataManager, LIST_GROUPS, ("groups", "group_id", "readers")),
    ],
    ids=["transactions", "groups"],
)
def test_requests_wait_until_the_logs_are_replayed(tmp_path, monkeypatch, coordinator, request_name, found):
    """COR-01: Kafka answers CoordinatorLoadInProgress; this broker accepts connections and answers after loading."""
    properties = {"log.dirs": str(tmp_path), "listeners": f"PLAINTEXT://127.0.0.1:{free_port()}"}
    cluster = EmbeddedCluster.start(properties, ThreadRuntime())
    servers = cluster.bootstrap_servers
    caller = Caller(servers)
    caller.create("t", 1)
    assert caller.init("mover").code is Code.NONE
    assert commit_plain(caller, "readers", TopicPartition("t", 0), 1).code is Code.NONE
    caller.close()
    cluster.close()
    early, load = [], coordinator.load

    def loading(self, *given):
        early.append(Raw(servers))
        early[0].send(*request_name, **EVERY)
        assert not answered(early[0])
        load(self, *given)
        assert not answered(early[0])

    monkeypatch.setattr(coordinator, "load", loading)
    cluster = EmbeddedCluster.start(properties, ThreadRuntime())
    answer = early[0].receive()

    listed, field, name = found
    assert answer["error_code"] == Code.NONE
    assert [each[field] for each in answer[listed]] == [name]
    early[0].close()
    cluster.close()
