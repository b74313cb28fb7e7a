"""The transaction log of a real Kafka is read, and written again to the byte."""

from __future__ import annotations

import uuid

import pytest

from conformance.calls import Caller
from eosfw.concurrency import ThreadRuntime
from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw.protocols import IsolationLevel
from eosfw.records import OffsetRange
from eosfw_memory.client.backend import MemoryBackend
from eosfw_memory.common.codes import Code
from eosfw_memory.server.coordinators.transaction_log_records import decode_key, decode_value, encode_key, encode_value

TRANSACTION_LOG = "__transaction_state"
WAIT = 20.0


@pytest.fixture
def caller(cluster):
    made = Caller(cluster.bootstrap_servers)
    yield made
    made.close()


def logged(servers: str) -> list[tuple[bytes, bytes | None]]:
    """Every record of the transaction log."""
    backend = MemoryBackend.connect({"bootstrap.servers": servers, "eosfw.transport": "socket"}, ThreadRuntime())
    try:
        count = backend.admin().partitions([TRANSACTION_LOG])[TRANSACTION_LOG]
        partitions = [TopicPartition(TRANSACTION_LOG, number) for number in range(count)]
        ends = backend.admin().end_offsets(partitions, IsolationLevel.READ_UNCOMMITTED)
        reader = backend.reader(IsolationLevel.READ_UNCOMMITTED)
        batches = reader.read({where: OffsetRange(0, end) for where, end in ends.items() if end}, WAIT)
        return [pair for batch in batches for pair in zip(batch.keys, batch.values, strict=True)]
    finally:
        backend.close()


def initialised(caller: Caller, name: str) -> ProducerIdAndEpoch:
    reported = caller.init(name)
    assert reported.code is Code.NONE
    return reported.producer


def test_every_record_is_written_again_to_the_byte(cluster, caller):
    """COR-13: by clients of both versions, in every state that is logged."""
    name = f"bytes-{uuid.uuid4().hex[:8]}"
    where = TopicPartition(name, 0)
    caller.create(name, 1)
    caller.warm_up(name, where)
    old = initialised(caller, name)
    assert caller.add(name, old, where).code is Code.NONE
    assert caller.end(name, old, 4).code is Code.NONE
    caller.settled(name)
    for commit in (True, False):
        new = initialised(caller, name)
        assert caller.produce(name, new, where, 0).code is Code.NONE
        assert caller.end(name, new, commit=commit).code is Code.NONE
        caller.settled(name)

    found = [(key, value) for key, value in logged(cluster.bootstrap_servers) if decode_key(key) == name]

    states = [decode_value(name, value) for _, value in found]
    assert [encode_key(name)] * len(found) == [key for key, _ in found]
    assert [encode_value(each) for each in states] == [value for _, value in found]
    assert {each.state.label for each in states} >= {
        "Empty", "Ongoing", "PrepareCommit", "CompleteCommit", "PrepareAbort", "CompleteAbort",
    }  # fmt: skip
    assert {each.client_version for each in states} == {0, 2}
