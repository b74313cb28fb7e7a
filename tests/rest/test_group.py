"""The group and the open transactions, which Kafka Connect's REST interface does not show."""

from __future__ import annotations

from contextlib import closing

from eosfw.ids import ConnectorTaskId
from eosfw.protocols import NewTopic
from eosfw.protocols.herder import MovingTask, OpenTransactionInfo, TransactionPartition
from eosfw.records import ProducerRecord

from .raw_http import exchange, request


def test_the_group_is_shown_with_its_workers_and_their_tasks(address, herder):
    """UIC-01: where Kafka Connect leaves one to read the states of all tasks."""
    herder.put_connector("orders", {"name": "orders", "connector.class": "file"})
    herder.moving = [MovingTask(ConnectorTaskId("orders", 1), "worker-0", gone=True, until=1_700_000_000_000)]

    status, group = exchange(address, request("GET", "/group"))

    assert status == 200
    assert (group["group_id"], group["generation"], group["leader"]) == ("rest", 7, "worker-1")
    [worker] = group["workers"]
    assert worker["leader"] is True
    assert worker["tasks"] == [{"connector": "orders", "task": 0}]
    assert group["moving"] == [
        {"id": {"connector": "orders", "task": 1}, "worker": "worker-0", "gone": True, "until": 1_700_000_000_000}
    ]


def test_open_transactions_are_shown_with_what_they_keep_from_readers(address, herder):
    """UIC-02: what `kafka-transactions.sh` tells in three steps."""
    held = [TransactionPartition("t", 0, 17)]
    herder.transactions = [OpenTransactionInfo("tx", "Ongoing", 4, 2, 1_700_000_000_000, 60_000, held)]

    status, [one] = exchange(address, request("GET", "/transactions"))

    assert status == 200
    assert one["partitions"] == [{"topic": "t", "partition": 0, "start_offset": 17}]
    assert (one["transactional_id"], one["state"], one["timeout_ms"]) == ("tx", "Ongoing", 60_000)


def test_a_worker_shows_its_group_and_who_holds_readers_back(worker, worker_client):
    """UIC-01, UIC-02: on an embedded cluster."""
    with closing(worker_client.admin()) as admin:
        admin.create_topics([NewTopic("t")])
    with closing(worker_client.producer("tx")) as producer:
        producer.init_transactions(10.0)
        producer.begin_transaction()
        producer.send(ProducerRecord("t", b"k", b"v"))
        producer.flush(10.0)

        group = exchange(worker, request("GET", "/group"))[1]
        transactions = exchange(worker, request("GET", "/transactions"))[1]

    [member] = group["workers"]
    assert (member["leader"], member["url"], member["tasks"]) == (True, f"http://{worker}", [])
    assert (group["group_id"], group["rebalancing"], group["notice"]) == ("rest", False, None)
    [held] = [one for one in transactions if one["transactional_id"] == "tx"]
    assert (held["state"], held["timeout_ms"]) == ("Ongoing", 60_000)
    assert held["partitions"] == [{"topic": "t", "partition": 0, "start_offset": 0}]
