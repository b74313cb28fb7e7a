"""States of connectors and tasks in the status topic."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

import pytest
from tests.herder.test_connector_requests import COUNTING, create, states, until_states
from tests.kip618.group import GroupPlugins
from tests.runtime.counting import CountingConnector, CountingTask

from eosfw.concurrency import Event
from eosfw.config import Config
from eosfw.errors import ClusterUnavailableError, RetriableError
from eosfw.ids import ConnectorTaskId, TopicPartition
from eosfw.protocols import IsolationLevel
from eosfw.records import OffsetRange
from eosfw.registry import load_plugins
from eosfw.runtime import DistributedHerder
from eosfw.state.storage.config_records import connector_record, task_records
from pytest_eos.environment.clusters.cluster import Cluster
from pytest_eos.runs.groups.herders import HerderGroup

TASK = ConnectorTaskId("c", 0)


class Sleep:
    """When the tasks of a test sleep, and until when."""

    wake: Event | None = None


class SleepingTask(CountingTask):
    """Sleeps in its poll while `Sleep.wake` is an event that is not set."""

    def poll(self):
        if Sleep.wake is not None:
            Sleep.wake.wait()
        return super().poll()


class SleepingConnector(CountingConnector):
    """Counts with tasks that may sleep."""

    task = SleepingTask


class Away:
    """Whether the source of a test does not answer."""

    now = False


class AwayTask(CountingTask):
    """Cannot poll while `Away.now` is set."""

    def poll(self):
        if Away.now:
            raise RetriableError("the source does not answer", retry_after=0.01)
        return super().poll()


class AwayConnector(CountingConnector):
    """Counts what a source has that may be away."""

    task = AwayTask


@pytest.fixture
def sleeping(cluster: Cluster) -> Iterator[HerderGroup]:
    """A group whose tasks may sleep."""
    Sleep.wake = None
    with HerderGroup(cluster, GroupPlugins(SleepingConnector()), "g") as group:  # type: ignore[arg-type]
        yield group
        if Sleep.wake is not None:
            Sleep.wake.set()


def written(cluster: Cluster, topic: str) -> list[tuple[str, dict[str, object] | None]]:
    """Every record of a topic with one partition."""
    backend = load_plugins().backend("memory").connect(cluster.client, cluster.runtime)
    partition = TopicPartition(topic, 0)
    end = backend.admin().end_offsets([partition], IsolationLevel.READ_UNCOMMITTED)[partition]
    batches = backend.reader(IsolationLevel.READ_UNCOMMITTED).read({partition: OffsetRange(0, end)}, 10)
    records = [pair for batch in batches for pair in zip(batch.keys, batch.values, strict=True)]
    backend.close()
    return [((key or b"").decode(), None if value is None else json.loads(value)) for key, value in records]


def test_task_left_behind_reports_its_state_no_more(sleeping: HerderGroup, cluster: Cluster):
    """SCN-07: a task that did not stop in time would overwrite the state of its successor."""
    herder = sleeping.start()
    herder.put_connector("c", {**COUNTING, "streams": "1", "until": "0"})
    until_states(herder, sleeping, "RUNNING", ["RUNNING"])
    Sleep.wake = cluster.runtime.event()
    zombie_wakes, before = Sleep.wake, len(written(cluster, "g-status"))
    sleeping.runtime.sleep(1)  # the task sleeps in its poll
    Sleep.wake = None
    herder.restart_task(TASK)
    sleeping.until(lambda: len(herder.worker_status().zombies) == 1, "the zombie")
    until_states(herder, sleeping, "RUNNING", ["RUNNING"])
    zombie_wakes.set()
    sleeping.until(lambda: len(herder.worker_status().retired) == 1, "the end of the zombie")
    sleeping.runtime.sleep(2)
    assert states(herder) == ("RUNNING", ["RUNNING"])
    reported = [value["state"] for key, value in written(cluster, "g-status")[before:] if value and "task" in key]
    assert reported == ["RUNNING"]


def test_task_that_waits_for_its_fencing_is_restarting_and_says_why(group: HerderGroup, cluster: Cluster):
    """FEN-08: nobody restarts it; it runs as soon as the cluster fences again."""
    assert cluster.local is not None
    herder = group.start()
    create(herder, group)
    busy = cluster.local.faults.add(
        "fail", request="InitProducerId", code="CONCURRENT_TRANSACTIONS", transactional_id="g-c-0", times=2**31 - 1
    )
    herder.put_connector("c", {**COUNTING, "until": "60"})
    waiting = ("RUNNING", ["RESTARTING"] * 2)
    group.until(lambda: states(herder) == waiting, "the wait of both tasks", patience=300.0)

    traces = [task.trace or "" for task in herder.connector_status("c").tasks]
    assert all("the task starts again after" in trace for trace in traces)
    cluster.local.faults.remove(busy)
    until_states(herder, group, "RUNNING", ["RUNNING", "RUNNING"])


def test_a_source_that_does_not_answer_is_shown_in_the_status(cluster: Cluster):
    """TXN-18: its task is RUNNING, with the reason why nothing comes, until the source answers."""
    Away.now = False
    with HerderGroup(cluster, GroupPlugins(AwayConnector()), "g") as group:  # type: ignore[arg-type]
        herder = group.start()
        create(herder, group)
        Away.now = True
        group.until(lambda: herder.task_status(TASK).trace is not None, "the reason")
        status = herder.task_status(TASK)
        assert (status.state, status.trace) == (
            "RUNNING",
            "polls again: 1 poll failed, now with: the source does not answer",
        )
        Away.now = False
        group.until(lambda: herder.task_status(TASK).trace is None, "the end of it")


def test_an_upgraded_connector_shows_its_new_version(cluster: Cluster):
    """KIP-891: of the connector and of each task; the worker has its old name, and had reported RUNNING before."""

    class Versioned(CountingConnector):
        version = "1.2"

    with HerderGroup(cluster, GroupPlugins(Versioned()), "g") as group:  # type: ignore[arg-type]
        create(group.start(), group)
        group.stop()
        Versioned.version = "1.3"
        herder = group.start()
        group.until(lambda: versions(herder) == {"1.3"}, "the new version")


def versions(herder: DistributedHerder) -> set[str | None]:
    found = herder.connector_status("c")
    return {found.connector.version, *(task.version for task in found.tasks)}


def test_clean_end_of_a_worker_leaves_its_tasks_unassigned(group: HerderGroup, cluster: Cluster):
    herder = group.start()
    create(herder, group)
    group.stop()
    last = dict(written(cluster, "g-status"))
    assert [last[f"status-task-c-{number}"]["state"] for number in (0, 1)] == ["UNASSIGNED", "UNASSIGNED"]  # type: ignore[index]


def test_inconsistent_connector_gets_its_tasks_anew(group: HerderGroup, cluster: Cluster):
    """LOG-04: compaction may leave a commit record without all of its tasks."""
    first = group.start()
    first.put_connector("other", {**COUNTING, "topic": "others"})
    group.stop()
    backend = load_plugins().backend("memory").connect(cluster.client, cluster.runtime)
    producer = backend.producer(None)
    _, *rest = task_records("c", [{"streams": "s0"}, {"streams": "s1"}])
    properties: dict[str, str] = {"name": "c", **COUNTING}
    for key, value in [connector_record("c", properties), *rest]:
        from eosfw.records import ProducerRecord

        producer.send(ProducerRecord("g-configs", value, key))
    producer.flush(10)
    backend.close()
    again = group.start("b")
    until_states(again, group, "RUNNING", ["RUNNING", "RUNNING"])
    assert [one.config["streams"] for one in again.task_infos("c")] == ["s0", "s1"]


def test_failed_connector_shows_why_and_recovers(cluster: Cluster):
    """SCN-02: a connector that cannot split its work disturbs no other."""

    class Splitting(CountingConnector):
        broken = True

        def task_configs(self, config: Config, max_tasks: int):
            if self.broken and config["topic"] == "bad":
                raise RuntimeError("nothing to split")
            return super().task_configs(config, max_tasks)

    with HerderGroup(cluster, GroupPlugins(Splitting()), "g") as group:  # type: ignore[arg-type]
        herder = group.start()
        herder.put_connector("c", {**COUNTING, "topic": "bad"})
        until_states(herder, group, "FAILED", [])
        assert "nothing to split" in (herder.connector_status("c").connector.trace or "")
        create(herder, group, "d")
        Splitting.broken = False
        until_states(herder, group, "RUNNING", ["RUNNING", "RUNNING"])


class Troubled(CountingConnector):
    """Meets a trouble each time it is asked for its tasks, until there is none left."""

    def __init__(self) -> None:
        self.troubles: list[Exception] = []

    def task_configs(self, config: Config, max_tasks: int) -> Sequence[Mapping[str, str]]:
        if self.troubles:
            raise self.troubles.pop(0)
        return super().task_configs(config, max_tasks)


@pytest.fixture
def troubled() -> Troubled:
    return Troubled()


@pytest.fixture
def troubled_group(cluster: Cluster, troubled: Troubled) -> Iterator[HerderGroup]:
    with HerderGroup(cluster, GroupPlugins(troubled), "g") as group:  # type: ignore[arg-type]
        yield group


def test_failed_connector_shows_its_newest_error_also_behind_one_that_passed(troubled, troubled_group):
    """SCN-02: while a connector is tried again and again, its state tells what there is to mend."""
    herder = troubled_group.start()
    troubled.troubles = [RetriableError("away"), RuntimeError("no source"), *[RuntimeError("no table")] * 100]
    herder.put_connector("c", COUNTING)
    until_states(herder, troubled_group, "FAILED", [])
    troubled_group.until(lambda: "no table" in (herder.connector_status("c").connector.trace or ""), "the newest error")


def test_connector_that_recovers_at_once_does_not_stay_failed(troubled, troubled_group, monkeypatch):
    """SCN-02: its failure is written while it is being mended, and read after that."""
    herder = troubled_group.start()
    create(herder, troubled_group)
    statuses = herder._services.statuses
    is_wanted = statuses._is_wanted

    def is_wanted_after_a_while(write) -> bool:
        if write.late:
            troubled_group.runtime.sleep(2.0)
        return is_wanted(write)

    monkeypatch.setattr(statuses, "_is_wanted", is_wanted_after_a_while)
    troubled.troubles = [RuntimeError("no source")]
    herder.put_connector("c", {**COUNTING, "batch": "2"})
    troubled_group.runtime.sleep(10.0)

    assert states(herder) == ("RUNNING", ["RUNNING", "RUNNING"])


def test_connector_created_anew_while_its_states_are_deleted_has_a_state(group: HerderGroup, monkeypatch):
    """Its deletion was queued, and for whoever creates it anew there was a state."""
    herder = group.start()
    create(herder, group)
    statuses = herder._services.statuses
    write_with_retries = statuses._write_with_retries

    def write_after_a_while(producer, write):
        group.runtime.sleep(2.0)
        return write_with_retries(producer, write)

    monkeypatch.setattr(statuses, "_write_with_retries", write_after_a_while)
    herder.delete_connector("c")
    group.runtime.sleep(1.0)
    herder.put_connector("c", COUNTING)
    group.runtime.sleep(30.0)

    assert states(herder) == ("RUNNING", ["RUNNING", "RUNNING"])


def test_connector_created_anew_shows_its_topic_again(group: HerderGroup):
    """KIP-558: its source gave one batch before, so its topic was noted and never looked up again."""
    herder = group.start()
    for until in ("1", "2"):  # one batch each time, since the offsets stay
        herder.put_connector("c", {**COUNTING, "until": until})
        group.until(lambda: herder.active_topics("c").topics == ["counts"], "the topic of the connector")
        herder.delete_connector("c")
        group.until(lambda: herder.active_topics("c").topics == [], "the end of the connector")


def test_a_read_that_failed_does_not_count_for_those_who_waited_for_it(group: HerderGroup, monkeypatch):
    """KIP-745: whoever plans a restart by states that nobody has read restarts the wrong tasks, or none."""
    herder = group.start()
    statuses, runtime = herder._services.statuses, group.runtime
    troubles, failures = [ClusterUnavailableError("nobody answers")], []
    read = statuses._read

    def read_after_troubles() -> None:
        if troubles:
            raise troubles.pop()
        failures.append(None)
        read()

    def ask() -> None:
        try:
            statuses.read_to_end()
        except ClusterUnavailableError as error:
            failures.append(error)

    with statuses._reading.held(runtime.now() + 10.0):
        monkeypatch.setattr(statuses, "_read", read_after_troubles)
        waiting = [runtime.spawn(f"reader-{number}", ask) for number in range(2)]
        runtime.sleep(0.1)
    for one in waiting:
        one.join()

    assert troubles == []
    assert failures.count(None) >= 1, "the second reader believed the first one"


def test_states_are_shown_as_last_read_while_the_cluster_does_not_answer(group: HerderGroup, monkeypatch):
    """SCN-07: an operator looks at states when something is wrong; Kafka Connect answers from memory."""
    herder, runtime = group.start(), group.runtime
    create(herder, group)
    until_states(herder, group, "RUNNING", ["RUNNING", "RUNNING"])

    def answers() -> list[object]:
        status = herder.connector_status("c")
        return [status, herder.connector_statuses(), herder.task_status(TASK), herder.active_topics("c")]

    before, back = answers(), runtime.event()
    statuses = herder._services.statuses
    read = statuses._read

    def read_from_a_cluster_that_is_away() -> None:
        if not back.wait(30):
            raise ClusterUnavailableError("nobody answers")
        read()

    monkeypatch.setattr(statuses, "_read", read_from_a_cluster_that_is_away)
    asked = runtime.now()
    assert answers() == before
    assert answers() == before
    assert runtime.now() - asked < 10, "only the first answer waits for the cluster"

    back.set()
    herder.pause_connector("c")
    until_states(herder, group, "PAUSED", ["PAUSED", "PAUSED"])
