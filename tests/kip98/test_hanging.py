"""A transaction that no coordinator knows is found and ended by hand (KIP-664)."""

from __future__ import annotations

import pytest

from eosfw.concurrency import Runtime
from eosfw.hanging_transactions import find_hanging
from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw_memory.cluster import EmbeddedCluster
from eosfw_memory.storage.records.codec import encode_batch
from kip98.clients import EMBEDDED, ClientOnCluster
from pytest_eos.contracts.backends.harness import COMMITTED, UNCOMMITTED, BackendHarness

STRANGER = ProducerIdAndEpoch(4242, 0)
ASKING = [param for param in EMBEDDED if not param.id.startswith("confluent")]
"""The clients that can describe producers."""


@pytest.mark.parametrize("way", ASKING, indirect=True)
def test_a_hanging_transaction_is_named_found_and_ended(
    way: ClientOnCluster, own_cluster: EmbeddedCluster, runtime: Runtime
) -> None:
    """COR-18: the last stable offset moves behind it, readers go on."""
    lab = BackendHarness(way.connect(own_cluster.bootstrap_servers, runtime), runtime)
    where = TopicPartition(lab.topic(), 0)
    partition = own_cluster.broker.topics.partition(*where)
    assert partition is not None
    # As brokers before KIP-890 could be brought to write it.
    batch = encode_batch(None, [b"lost"], 1000, producer=STRANGER, base_sequence=0, transactional=True)
    partition.log.append(batch, 1000)
    lab.write(where.topic, b"waiting")
    assert lab.end(where.topic, COMMITTED) == 0

    (named,) = lab.admin.open_transactions([where])
    (found,) = find_hanging(lab.admin, [where], runtime.wall())
    lab.admin.abort_transaction(found.partition, found.start_offset)

    assert (named.producer, named.first_offset) == (STRANGER, 0)
    assert str(STRANGER.producer_id) in named.transactional_id
    assert (found.partition, found.start_offset, found.transactional_id) == (where, 0, None)
    assert lab.end(where.topic, COMMITTED) == lab.end(where.topic, UNCOMMITTED)
    assert lab.values(where.topic) == [b"waiting"]
    assert find_hanging(lab.admin, [where], runtime.wall()) == []
    lab.close()
