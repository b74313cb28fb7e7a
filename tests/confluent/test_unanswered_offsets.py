"""Questions for offsets that no broker answers."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

import pytest

from eosfw.concurrency import ThreadRuntime
from eosfw.errors import ClusterUnavailableError
from eosfw.ids import TopicPartition
from eosfw.protocols import Admin, IsolationLevel
from eosfw_confluent.backend import ConfluentBackend
from eosfw_memory.cluster import EmbeddedCluster

PARTITIONS = [TopicPartition("t", 0), TopicPartition("t", 1)]


@pytest.mark.parametrize(
    "ask",
    [
        lambda admin: admin.end_offsets(PARTITIONS, IsolationLevel.READ_COMMITTED),
        lambda admin: admin.log_start_offsets(PARTITIONS),
        lambda admin: admin.offsets_for_times(dict.fromkeys(PARTITIONS, 0), IsolationLevel.READ_COMMITTED),
    ],
    ids=["end", "start", "times"],
)
def test_an_offset_that_no_broker_answered_is_an_error(ask: Callable[[Admin], object]) -> None:
    """OFF-02: librdkafka gives -1001 without an error; taken for an end, a topic would have nothing to read."""
    runtime = ThreadRuntime()
    with closing(EmbeddedCluster.start({}, runtime)) as cluster:
        cluster.broker.topics.create("t", len(PARTITIONS), {})
        address = {"bootstrap.servers": cluster.bootstrap_servers, "default.api.timeout.ms": "1500"}
        with closing(ConfluentBackend.connect(address, runtime)) as backend:
            admin = backend.admin()
            assert admin.end_offsets(PARTITIONS, IsolationLevel.READ_COMMITTED) == dict.fromkeys(PARTITIONS, 0)
            cluster.close()

            with pytest.raises(ClusterUnavailableError, match=r"list offsets at .*: no answer within 1.5 s"):
                ask(admin)
