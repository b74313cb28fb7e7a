"""A worker measures itself and its tasks under Kafka Connect's names (MET-01)."""

from __future__ import annotations

import logging
import math
from importlib.metadata import version

from tests.herder.worker_groups import workers
from tests.kip618.group import GroupPlugins
from tests.runtime.counting import CountingConnector, CountingTask

from eosfw.errors import ClusterUnavailableError
from eosfw.runtime import DistributedHerder
from eosfw.runtime.storage import offset_backup
from pytest_eos.runs.groups.herders import HerderGroup

from .test_connector_requests import COUNTING, create, states


def values(herder: DistributedHerder, name: str) -> dict[tuple[str, ...], float]:
    """The values of one metric by its labels."""
    return {tuple(metric.labels.values()): metric.value for metric in herder.metrics() if metric.name == name}


def test_tasks_states_and_the_group_are_measured_until_a_connector_is_deleted(group):
    herder = group.start()
    group.until(
        lambda: values(herder, "completed-rebalances-total") == {(): 1}, "the first rebalance, which is joining"
    )
    assert values(herder, "time-since-last-rebalance-ms")[()] < math.inf
    create(herder, group)
    both = {("c", "0"): 50, ("c", "1"): 50}
    group.until(lambda: values(herder, "source-record-write-total") == both, "100 records in all")

    assert values(herder, "source-record-poll-total") == both
    group.until(lambda: values(herder, "source-record-active-count") == dict.fromkeys(both, 0), "commits")
    assert min(values(herder, "transactions-total").values()) >= 1
    assert min(values(herder, "transaction-size-max").values()) >= 1
    assert values(herder, "offset-commit-failure-percentage") == dict.fromkeys(both, 0)
    assert values(herder, "status") == {("c", "0", "running"): 1, ("c", "1", "running"): 1}
    counts = [values(herder, name)[()] for name in ("task-count", "connector-count", "task-startup-success-total")]
    assert counts == [2, 1, 2]
    assert values(herder, "leader-name") == {(str(herder.leader_url()),): 1}

    herder.delete_connector("c")
    group.until(lambda: not values(herder, "source-record-write-total"), "no task is measured")
    assert [values(herder, name)[()] for name in ("task-count", "connector-count")] == [0, 0]


def test_tasks_of_a_connector_are_counted_by_state(group):
    """MET-01: as Kafka Connect counts them, with no series of a state that no task is in."""
    herder = group.start()
    create(herder, group)
    herder.pause_connector("c")
    paused = {("c", "0", "paused"): 1, ("c", "1", "paused"): 1}
    group.until(lambda: values(herder, "status") == paused, "a pause")

    counts = {name: values(herder, f"connector-{name}-task-count") for name in ("total", "paused", "running")}
    assert counts == {"total": {("c",): 2}, "paused": {("c",): 2}, "running": {("c",): 0}}
    assert set(values(herder, "starts-total").values()) == {1}


def test_starts_of_connectors_are_counted_by_their_outcome(group, monkeypatch):
    """MET-01: each time one is configured, tried again, or restarted; not when it is paused."""
    herder = group.start()
    create(herder, group)
    herder.pause_connector("c")
    group.until(lambda: states(herder) == ("PAUSED", ["PAUSED", "PAUSED"]), "a pause")
    names = [f"connector-startup-{one}" for one in ("attempts-total", "success-total", "failure-total")]
    assert [values(herder, name)[()] for name in names] == [1, 1, 0]

    def fail(*_: object) -> None:
        raise ValueError("no tables")

    monkeypatch.setattr(CountingConnector, "task_configs", fail)
    herder.put_connector("d", COUNTING)
    group.until(lambda: values(herder, names[2])[()] >= 2, "two failures")
    monkeypatch.undo()
    group.until(lambda: values(herder, names[1])[()] == 2, "a success")
    assert 0 < values(herder, "connector-startup-failure-percentage")[()] < 1


def test_the_worker_tells_its_version_as_a_client(group):
    """MET-01: by which dashboards list workers."""
    herder = group.start()
    (labels,) = values(herder, "version")
    assert labels == ("connect-a:8083", version("eosfw"))


def test_rebalances_are_counted_with_their_times():
    """MET-01: a worker that joins makes two of them: tasks are revoked, then given to it."""
    with workers() as group:
        before = group.start("a")
        group.put(4)
        group.until_shared(4)
        (had,) = values(before, "completed-rebalances-total").values()

        joining = group.start("b")
        group.until_shared(2, 2)
        group.until(lambda: not sum(values(before, "rebalancing").values()), "its end")
        since = values(before, "time-since-last-rebalance-ms")[()]
        group.runtime.sleep(7)

        assert values(before, "completed-rebalances-total")[()] == had + 2
        assert values(joining, "completed-rebalances-total")[()] >= 1
        assert values(before, "rebalance-max-time-ms")[()] >= values(before, "rebalance-avg-time-ms")[()] > 0
        assert since + 7000 <= values(before, "time-since-last-rebalance-ms")[()] < since + 8000
        assert values(before, "epoch") == values(joining, "epoch")


def test_a_rebalance_is_logged_with_its_outcome(caplog):
    """MET-02: who led, and what it gave to the worker."""
    caplog.set_level(logging.INFO, "eosfw.runtime.group.membership")
    with workers() as group:
        group.start("a")
        group.put(4)
        group.until_shared(4)
        group.start("b")
        group.until_shared(2, 2)
        leader, names = group.leader_name(), {name: one.name for name, one in group.workers.items()}

    assert all(one.levelno == logging.INFO for one in caplog.records)
    last = [[text for text in caplog.messages if text.startswith(f"worker {name} ")][-1] for name in names.values()]
    assert all("runs 2 tasks by assignment " in text and text.endswith(f" of {names[leader]}") for text in last)


def test_the_modes_of_a_rolling_upgrade_are_shown(caplog):
    """CFG-11: by every worker, and in the log of the leader, for as long as they differ."""
    with workers(exactly_once_source_support="disabled") as group:
        first = group.start("a")
        group.set_worker(exactly_once_source_support="preparing")
        second = group.start("b")
        mixed = {("disabled",): 1, ("preparing",): 1}
        group.until(lambda: values(first, "exactly-once-support-workers") == mixed, "two modes")
        group.until(lambda: values(second, "exactly-once-support-workers") == mixed, "two modes")
        text = f"is disabled in {first.name} and preparing in {second.name}: a rolling upgrade is under way"
        assert text in caplog.text

        group.stop("a")
        group.until(lambda: values(second, "exactly-once-support-workers") == {("preparing",): 1}, "one mode")


def test_offsets_that_were_not_backed_up_are_counted(group, monkeypatch):
    """OFF-09: of a connector with an offsets topic of its own."""
    refused = ClusterUnavailableError("no broker answered")
    monkeypatch.setattr(offset_backup, "PAUSES", ())
    monkeypatch.setattr(offset_backup.OffsetBackup, "_attempt", lambda *_: refused)
    herder = group.start()
    create(herder, group, **{"offsets.storage.topic": "own"})

    group.until(lambda: min(values(herder, "offset-backup-failures-total").values()) >= 1, "failures of both tasks")

    create(herder, group, "d")
    counted = values(herder, "offset-backup-failures-total")
    assert counted["d", "0"] == counted["d", "1"] == 0


def test_plugins_of_a_task_are_measured_while_it_is_assigned(cluster):
    """PLG-09: `GET /metrics` shows what `herder.metrics` has."""

    class Task(CountingTask):
        def start(self, config, context):
            super().start(config, context)
            context.metrics.gauge("streams", "counters of this task").set(len(self.next))

    class Connector(CountingConnector):
        task = Task

    with HerderGroup(cluster, GroupPlugins(Connector()), "g") as group:
        herder = group.start()
        create(herder, group)
        assert values(herder, "streams") == {("c", "0", "task"): 1, ("c", "1", "task"): 1}
        herder.delete_connector("c")
        group.until(lambda: not values(herder, "streams"), "no task is measured")
