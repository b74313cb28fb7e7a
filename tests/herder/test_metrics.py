"""A worker measures itself and its tasks under Kafka Connect's names (MET-01)."""

from __future__ import annotations

from eosfw.runtime import DistributedHerder

from .test_connector_requests import create


def values(herder: DistributedHerder, name: str) -> dict[tuple[str, ...], float]:
    """The values of one metric by its labels."""
    return {tuple(metric.labels.values()): metric.value for metric in herder.metrics() if metric.name == name}


def test_records_and_transactions_of_each_task_are_counted(group):
    herder = group.start()
    create(herder, group)

    group.until(
        lambda: values(herder, "source-record-write-total") == {("c", "0"): 50, ("c", "1"): 50}, "100 records in all"
    )

    assert values(herder, "source-record-poll-total") == {("c", "0"): 50, ("c", "1"): 50}
    group.until(lambda: values(herder, "source-record-active-count") == {("c", "0"): 0, ("c", "1"): 0}, "commits")
    assert min(values(herder, "transactions-total").values()) >= 1
    assert min(values(herder, "transaction-size-max").values()) >= 1
    assert values(herder, "offset-commit-failure-percentage") == {("c", "0"): 0, ("c", "1"): 0}


def test_states_of_tasks_and_the_group_are_metrics(group):
    herder = group.start()
    create(herder, group)

    running = {labels for labels, value in values(herder, "status").items() if value}
    assert running == {("c", "0", "running"), ("c", "1", "running")}
    assert values(herder, "task-count") == {(): 2}
    assert values(herder, "connector-count") == {(): 1}
    assert values(herder, "task-startup-success-total") == {(): 2}
    assert values(herder, "leader-name") == {(str(herder.leader_url()),): 1}


def test_a_deleted_connector_is_measured_no_longer(group):
    herder = group.start()
    create(herder, group)

    herder.delete_connector("c")

    group.until(lambda: not values(herder, "source-record-write-total"), "no task is measured")
    assert values(herder, "task-count") == {(): 0}
