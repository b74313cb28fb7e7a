"""Each batch that is read has one type of timestamps, also where a topic has got another one."""

from __future__ import annotations

import pytest
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from eosfw.concurrency import Runtime
from eosfw.ids import TopicPartition
from eosfw.protocols import Backend
from eosfw.records import OffsetRange
from eosfw_memory.cluster import EmbeddedCluster
from kip98.clients import EMBEDDED, ClientOnCluster
from pytest_eos.contracts.backends.harness import COMMITTED, WAIT, BackendHarness


@pytest.fixture(scope="module", params=EMBEDDED)
def way(request: pytest.FixtureRequest) -> ClientOnCluster:
    """Each client in turn, on a broker whose topics may be changed."""
    return request.param  # type: ignore[no-any-return]


@pytest.fixture
def backend(way: ClientOnCluster, module_cluster: EmbeddedCluster, runtime: Runtime) -> Backend:
    """A client of the cluster of this module."""
    return way.connect(module_cluster.bootstrap_servers, runtime)


def test_records_of_two_types_of_timestamps_are_read_in_separate_batches(
    lab: BackendHarness, module_cluster: EmbeddedCluster
) -> None:
    """LogBatch: its type is that of each of its records (KIP-32)."""
    topic = lab.topic()
    lab.write(topic, b"created", b"created")
    appended = ConfigEntry("message.timestamp.type", "LogAppendTime", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[appended])
    admin = AdminClient({"bootstrap.servers": module_cluster.bootstrap_servers})
    admin.incremental_alter_configs([resource])[resource].result(WAIT)
    lab.write(topic, b"appended")

    batches = list(lab.backend.reader(COMMITTED).read({TopicPartition(topic, 0): OffsetRange(0, 3)}, WAIT))

    read = [(value, each.timestamp_type) for each in batches for value in each.values]
    assert read == [(b"created", 0), (b"created", 0), (b"appended", 1)]
