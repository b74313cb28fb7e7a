"""What the memory client asks for when offsets are to commit with a transaction."""

from __future__ import annotations

import pytest

from eosfw.concurrency import ThreadRuntime
from eosfw.ids import TopicPartition
from eosfw.protocols import ConsumerGroupMetadata, NewTopic
from eosfw_memory.client.backend import MemoryBackend
from eosfw_memory.client.transport.direct import DirectNetwork

WAIT = 20.0


@pytest.fixture
def asked(monkeypatch):
    """The names of the requests that left, in order."""
    names, call = [], DirectNetwork.call

    def noting(self, api, request, deadline):
        names.append(api.name)
        return call(self, api, request, deadline)

    monkeypatch.setattr(DirectNetwork, "call", noting)
    return names


@pytest.mark.parametrize(("version", "added"), [("1", 2), ("2", 0)])
def test_each_group_is_added_once_to_each_transaction(embedded, asked, version, added):
    """PRD-05: AddOffsetsToTxn comes once for a group, TxnOffsetCommit each time; nothing for no offsets.

    In version 2 of transactions offsets add their group by themselves (KIP-890).
    """
    backend = MemoryBackend.connect({"bootstrap.servers": embedded, "eosfw.transport": "direct"}, ThreadRuntime())
    backend.admin().create_topics([NewTopic(f"adds-{version}")])
    one = {TopicPartition(f"adds-{version}", 0): 5}
    producer = backend.producer("adds-once", properties={"eosfw.transaction.version": version})
    producer.init_transactions(WAIT)
    for _ in range(2):
        asked.clear()
        producer.begin_transaction()
        for group in ("adds-a", "adds-a", "adds-b", "adds-a"):
            producer.send_offsets(one, ConsumerGroupMetadata(group), WAIT)
        producer.send_offsets({}, ConsumerGroupMetadata("adds-c"), WAIT)
        producer.commit_transaction(WAIT)

        assert asked.count("AddOffsetsToTxn") == added
        assert asked.count("TxnOffsetCommit") == 4
        assert asked[-1] == "EndTxn"
    backend.close()
