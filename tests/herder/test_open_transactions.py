"""The open transactions of a worker group's cluster, as `GET /transactions` lists them."""

from __future__ import annotations

from contextlib import closing

from tests.kip618.group import PLUGINS

from eosfw.protocols import NewTopic
from eosfw.protocols.herder import TransactionPartition
from eosfw.records import ProducerRecord
from pytest_eos.environment.clusters.cluster import Cluster
from pytest_eos.runs.groups.herders import HerderGroup


def test_a_transaction_is_listed_though_a_topic_of_it_was_deleted(cluster: Cluster, group: HerderGroup) -> None:
    """It keeps readers of its other topics waiting until it ends."""
    herder = group.start()
    with (
        closing(PLUGINS.backend("memory").connect(cluster.client, cluster.runtime)) as backend,
        closing(backend.producer("other")) as producer,
        closing(backend.admin()) as admin,
    ):
        admin.create_topics([NewTopic("deleted", 1, 1, {}), NewTopic("left", 1, 1, {})])
        producer.init_transactions(10)
        producer.begin_transaction()
        for topic in ("deleted", "left"):
            producer.send(ProducerRecord(topic, b"1"))
        producer.flush(10)
        admin.delete_topics(["deleted"])

        (found,) = [one for one in herder.open_transactions() if one.transactional_id == "other"]

    assert found.partitions == [TransactionPartition("deleted", 0, None), TransactionPartition("left", 0, 0)]
