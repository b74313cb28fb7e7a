"""What a new admin client asks first, while librdkafka changes from the bootstrap server to the brokers it names."""

from __future__ import annotations

from contextlib import closing

from eosfw.concurrency import ThreadRuntime
from eosfw.ids import TopicPartition
from eosfw.protocols import IsolationLevel
from eosfw_confluent.backend import ConfluentBackend
from eosfw_memory.cluster import EmbeddedCluster
from eosfw_memory.faults import Delay

PARTITION = TopicPartition("t", 0)


def test_a_first_look_at_offsets_asks_for_leaders_once() -> None:
    """A question that is lost with the connection to the bootstrap server is asked again after 3 s only."""
    runtime = ThreadRuntime()
    with closing(EmbeddedCluster.start({}, runtime)) as cluster:
        cluster.broker.topics.create(PARTITION.topic, 1, {})
        # The brokers are known late, so that whatever else is asked meanwhile goes to the bootstrap server.
        cluster.faults.add(Delay("Metadata", seconds=0.3))
        asked = cluster.faults.add(Delay("Metadata", topic=PARTITION.topic, seconds=0.0, times=9))
        backend = ConfluentBackend.connect({"bootstrap.servers": cluster.bootstrap_servers}, runtime)
        with closing(backend):
            found = backend.admin().end_offsets([PARTITION], IsolationLevel.READ_COMMITTED)

    assert found == {PARTITION: 0}
    assert len(asked.firings) == 1
