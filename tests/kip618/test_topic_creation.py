"""A worker creates its connectors' topics with each client, as their groups say (KIP-158)."""

from __future__ import annotations

from contextlib import closing

import pytest
from tests.runtime.scripted_task import batch, scripted
from tests.runtime.worker_harness import connector_of

from eosfw.protocols import NewTopic
from eosfw.records import SourceRecord
from eosfw_memory.cluster import EmbeddedCluster

from .group import RUNTIME, Group, Served


def test_topics_are_created_with_the_partitions_and_properties_of_their_groups(cluster: Served) -> None:
    """TPC-01, TPC-02: the cluster's own number of partitions where none is given."""
    name = f"topics-{cluster.backend}-{id(cluster)}"
    task = scripted(batch(0, topic=f"{name}-log"), batch(2, topic=f"{name}-other"))
    with Group(cluster, connector=connector_of(task)) as group:
        group.put(
            topic_creation_groups="logs",
            topic_creation_logs_include=".*-log",
            topic_creation_logs_partitions="3",
            topic_creation_logs_retention_ms="86400000",
        )
        group.until_drained()
        assert group.committed(f"{name}-other") == [b"2", b"3"]
        assert group.committed(f"{name}-log") == [b"0", b"1"]
        with closing(group.backend.admin()) as admin:
            assert admin.partitions([f"{name}-log"]) == {f"{name}-log": 3}
            assert admin.topic_config(f"{name}-log")["retention.ms"] == "86400000"
            assert admin.partitions([f"{name}-other"])[f"{name}-other"] >= 1


@pytest.mark.parametrize(
    ("properties", "text"),
    [
        ({"topic_creation_default_no_such": "x"}, "no.such"),
        ({"topic_creation_default_replication_factor": "7"}, "only 1 broker"),
    ],
)
def test_settings_that_the_cluster_refuses_fail_the_task(
    cluster: Served, properties: dict[str, str], text: str
) -> None:
    """TPC-05: with Kafka Connect's text and the cluster's reason."""
    task = scripted([SourceRecord("refused-topic", b"1", None, {"p": "a"}, {"o": 1})])
    with Group(cluster, connector=connector_of(task)) as group:
        group.put(**properties)
        group.until(lambda: bool(group.worker.status().failures), "the failure of the task")
        [failed] = group.worker.status().failures

    assert "Unable to create topic(s) 'refused-topic': " in str(failed.error)
    assert text in str(failed.error)


def test_without_topic_creation_a_task_writes_to_a_topic_that_exists(cluster: Served) -> None:
    """TPC-04: and the worker creates none that does not."""
    with Group(cluster, connector=None, topic_creation_enable="false") as group:
        with closing(group.backend.admin()) as admin:
            admin.create_topics([NewTopic(group.topic, 2)])
        group.put(streams="1", until="3")
        group.until_drained()
        assert len(group.committed()) == 3


@pytest.mark.parametrize("name", ["memory", "confluent", "kafka-python"])
def test_without_topic_creation_the_broker_may_create_topics(name: str) -> None:
    """TPC-04: as `auto.create.topics.enable` says, with its own number of partitions."""
    with (
        closing(EmbeddedCluster.start({"auto.create.topics.enable": "true", "num.partitions": "4"}, RUNTIME)) as broker,
        Group(Served(broker.bootstrap_servers, name), topic_creation_enable="false") as group,
    ):
        group.put(streams="1", until="3")
        group.until_drained()
        assert len(group.committed()) == 3
        with closing(group.backend.admin()) as admin:
            assert admin.partitions([group.topic]) == {group.topic: 4}
