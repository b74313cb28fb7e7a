"""What the leader writes, which producers it fences, when it refuses (Kafka's DistributedHerderTest)."""

from __future__ import annotations

import json
import threading
from itertools import groupby

import pytest

from eosfw.concurrency import ThreadRuntime
from eosfw.errors import ExitCode, IllegalStateError, PrivilegedWriteError, TopicAuthorizationError
from eosfw.ids import TopicPartition
from eosfw.runtime.fencing.rounds import FencingRefusedError, ZombieFencing
from eosfw.runtime.status import TaskState
from eosfw.state.steps import TaskStep

from ..fake_cluster import Entry, FakeAdmin, FakeCluster
from ..worker_harness import WorkerHarness


def log_of(stage: WorkerHarness) -> list[tuple[str, object]]:
    entries = stage.cluster.logs[TopicPartition("g-configs", 0)]
    shown = [entry for entry in entries if entry.txn is None or not (entry.txn.open or entry.txn.aborted)]
    return [(entry.key.decode(), None if entry.value is None else json.loads(entry.value)) for entry in shown]


def test_a_connector_is_written_as_connect_writes_it():
    """LOG-02, LOG-03: properties, tasks closed by their commit, at last the count of what may be zombies."""
    with WorkerHarness() as stage:
        stage.put("c", streams="2", until="1", tasks_max="2")
        stage.until_drained()

    keys = [key for key, _ in log_of(stage)]
    assert keys == ["connector-c", "task-c-0", "task-c-1", "commit-c", "tasks-fencing-c"]
    values = dict(log_of(stage))
    assert values["commit-c"] == {"tasks": 2}
    assert values["tasks-fencing-c"] == {"task-count": 2}
    assert values["connector-c"]["properties"]["name"] == "c"
    assert values["task-c-1"]["properties"]["streams"] == "s1"


def test_each_write_of_the_leader_is_a_transaction_of_its_own():
    """LDR-02: all tasks of a connector and their commit record are one write."""
    with WorkerHarness() as stage:
        stage.put("c", streams="2", until="1", tasks_max="2")
        stage.until_drained()

    entries = stage.cluster.logs[TopicPartition("g-configs", 0)]
    written = [[entry.key for entry in some] for _, some in groupby(entries, lambda entry: id(entry.txn))]
    assert None not in {entry.txn for entry in entries}
    assert written == [[b"connector-c"], [b"task-c-0", b"task-c-1", b"commit-c"], [b"tasks-fencing-c"]]


def test_tasks_of_one_connector_share_a_fencing_round():
    """FEN-03: one physical fencing and one count record for all callers."""
    with WorkerHarness() as stage:
        stage.put("c", streams="4", until="5", tasks_max="4")
        stage.until_drained()
        stage.put("c", streams="4", until="9", tasks_max="4")
        stage.until_drained()

    assert [call for call in stage.cluster.calls if call.startswith("fence")] == ["fence g-c-0 g-c-1 g-c-2 g-c-3"]
    assert [key for key, _ in log_of(stage)].count("tasks-fencing-c") == 2


def test_no_count_is_written_when_the_generation_moves_during_the_fencing():
    """FEN-04, FEN-05: the round is refused; the next generation fences for itself, by the old count."""
    moved = threading.Event()

    def move(call: str, _: object) -> None:
        if call.startswith("fence") and not moved.is_set():
            moved.set()
            # Another leader's commit, seen only by reading the log again.
            share = {"properties": {"streams": "s0", "topic": "t"}}
            for key, value in (("task-c-0", share), ("commit-c", {"tasks": 1})):
                cluster.append("g-configs", 0, Entry(key.encode(), json.dumps(value).encode(), (), None))

    cluster = FakeCluster()
    with WorkerHarness(cluster=cluster) as stage:
        stage.put("c", streams="2", until="5", tasks_max="2")
        stage.until_drained()
        cluster.before = move
        stage.put("c", streams="2", until="9", tasks_max="2")
        tasks = stage.until_ended()

    assert all(task.superseded for task in tasks)
    assert [key for key, _ in log_of(stage)].count("tasks-fencing-c") == 1
    assert stage.cluster.calls.count("init") == 2


def test_a_task_whose_count_record_is_missing_does_not_start():
    """FEN-09 step 2, FEN-11: it fails with an explanation, it never runs."""
    from eosfw.state.fencing.plan import FencingPlan

    with WorkerHarness() as stage:
        stage.worker._leader._plan = lambda *_: FencingPlan.NOTHING
        stage.put("c", until="3")
        (task,) = stage.until_ended()

    assert task.state is TaskState.FAILED
    assert "no task count record" in str(task.error)
    assert "init" not in stage.cluster.calls


def test_internal_topics_are_created_once():
    """LOG-01: 25 partitions for offsets, unless told otherwise."""
    with WorkerHarness() as stage:
        assert FakeAdmin(stage.cluster).partitions() == {"g-configs": 1, "g-offsets": 25}
    with WorkerHarness(cluster=stage.cluster):
        pass


def test_writing_without_the_claim_is_an_error_of_the_caller():
    """LDR-03: testWritePrivileges."""
    stage = WorkerHarness()
    FakeAdmin(stage.cluster).create_topics([])
    with pytest.raises(IllegalStateError, match="claim leadership"):
        stage.put("c")


def test_a_repeatedly_fenced_leader_gives_up(monkeypatch):
    """Two leaders would fence each other for ever otherwise."""

    def steal(call: str, transactional_id: str | None) -> None:
        if call == "begin" and transactional_id == "connect-cluster-g":
            stage.cluster.fence(transactional_id)

    stage = WorkerHarness()
    monkeypatch.setattr("eosfw.runtime.fencing.leader.CLAIM_PAUSES", (0.01,))
    with stage:
        stage.cluster.before = steal
        with pytest.raises(PrivilegedWriteError):
            stage.put("c")
        stage.cluster.before = lambda *_: None
    assert [event.step for event in stage.events].count(TaskStep.CLAIM_LEADERSHIP) == 4


def test_a_leader_without_the_right_to_write_does_not_claim_it_again():
    """SEC-14: exit code 3, since nobody else took the group over."""

    def refuse(call: str, transactional_id: str | None) -> None:
        if call == "begin" and transactional_id == "connect-cluster-g":
            raise TopicAuthorizationError("User:worker needs Write on the topic 'g-configs'")

    stage = WorkerHarness()
    with stage:
        stage.cluster.before = refuse
        with pytest.raises(PrivilegedWriteError, match="needs Write on the topic 'g-configs'") as refused:
            stage.put("c")
        stage.cluster.before = lambda *_: None
    assert refused.value.exit_code is ExitCode.CONFIGURATION
    assert [event.step for event in stage.events].count(TaskStep.CLAIM_LEADERSHIP) == 1


# --- sharing rounds


class TellingRuntime(ThreadRuntime):
    """A runtime that signals when a thread waits for one of its events."""

    def __init__(self) -> None:
        self.somebody_waits = threading.Event()

    def event(self) -> threading.Event:
        made = threading.Event()
        wait = made.wait

        def tell(timeout: float | None = None) -> bool:
            self.somebody_waits.set()
            return wait(timeout)

        made.wait = tell
        return made


def test_a_caller_waiting_for_a_fencing_round_gets_its_error():
    """FEN-03: ...SynchronousFailure, ...DelayedCompletion."""
    runtime = TellingRuntime()
    rounds, started, go = ZombieFencing(runtime), threading.Event(), threading.Event()
    errors: list[BaseException] = []

    def run(_: object) -> None:
        started.set()
        go.wait(30)
        raise PrivilegedWriteError("lost")

    def ask() -> None:
        try:
            rounds.run_or_join("c", 0, run)
        except PrivilegedWriteError as error:
            errors.append(error)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    threads[0].start()
    assert started.wait(30)
    for thread in threads[1:]:
        thread.start()
    assert runtime.somebody_waits.wait(30)
    go.set()
    for thread in threads:
        thread.join(30)
    assert [str(error) for error in errors] == ["lost"] * 4


def test_cancelling_a_fencing_round_releases_waiters_and_stops_the_runner():
    """FEN-04: ...and a round of the next generation is another round."""
    runtime = TellingRuntime()
    rounds, started, go = ZombieFencing(runtime), threading.Event(), threading.Event()
    ended: list[str] = []

    def run(check: object) -> None:
        started.set()
        go.wait(30)
        check()

    def ask(name: str) -> None:
        try:
            rounds.run_or_join("c", 0, run)
        except FencingRefusedError:
            ended.append(name)

    runner = threading.Thread(target=ask, args=("runner",))
    waiter = threading.Thread(target=ask, args=("waiter",))
    runner.start()
    assert started.wait(30)
    waiter.start()
    assert runtime.somebody_waits.wait(30)
    rounds.cancel("other")
    rounds.cancel("c")
    waiter.join(30)
    assert ended == ["waiter"]
    rounds.run_or_join("c", 1, lambda _: ended.append("next"))
    go.set()
    runner.join(30)
    assert ended == ["waiter", "next", "runner"]
