"""A Kafka Connect group under the group id of a worker, in virtual time."""

from __future__ import annotations

import pytest
from tests.herder.worker_groups import SESSION, workers

from eosfw.errors import InconsistentGroupProtocolError
from eosfw_memory.client.transport.apis import HEARTBEAT, JOIN_GROUP, SYNC_GROUP, Fields, milliseconds
from eosfw_memory.client.transport.direct import DirectNetwork


@pytest.fixture
def group():
    with workers() as made:
        yield made


_PROTOCOL = {"protocol_type": "connect", "protocol_name": "sessioned"}


@pytest.fixture
def connect_member(group):
    """A member of a Kafka Connect group under the same id, which sends heartbeats until it is killed."""
    connect = DirectNetwork("x", lambda: group.cluster.local.broker, group.runtime)
    joining = Fields(
        group_id=group.name,
        session_timeout=milliseconds(SESSION),
        rebalance_timeout=milliseconds(SESSION),
        member_id="",
        group_instance_id=None,
        protocol_type="connect",
        protocols=[Fields(name="sessioned", metadata=b"")],
        reason=None,
    )
    joining.member_id = connect.call(JOIN_GROUP, joining, 60.0)["member_id"]
    joined = connect.call(JOIN_GROUP, joining, 60.0)
    assert joined["error_code"] == 0
    killed = group.runtime.event()
    member = {"group_id": group.name, "generation_id": joined["generation_id"], "member_id": joining.member_id}

    def live() -> None:
        while not killed.wait(3.0):
            connect.call(HEARTBEAT, Fields(**member, group_instance_id=None), 60.0)

    connect.call(SYNC_GROUP, Fields(**member, group_instance_id=None, **_PROTOCOL, assignments=[]), 60.0)
    group.runtime.spawn("connect-member", live)
    yield killed
    killed.set()


def test_a_worker_names_a_group_of_another_kind(group, connect_member):
    """A live Kafka Connect group under the same id: one clear error, and nothing is changed."""
    began = group.runtime.now()
    with pytest.raises(InconsistentGroupProtocolError, match=r"a Kafka Connect group.*is alive"):
        group.start("a")
    assert group.runtime.now() - began < SESSION + 5


def test_a_worker_takes_over_a_kafka_connect_group_whose_worker_was_killed(group, connect_member):
    """Right after the kill: its session is waited for."""
    connect_member.set()

    group.start("a")
    group.put(2)
    group.until_shared(2)
    group.until_more()
    group.check_exactly_once()
