"""What a task asks of its producer, in which order, whatever happens (Kafka's ExactlyOnceWorkerSourceTaskTest)."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from eosfw.connectors import SourceTask
from eosfw.errors import (
    AbortableError,
    ClusterUnavailableError,
    IndefiniteOutcomeError,
    InvalidTransactionTimeoutError,
    ProducerFencedError,
    RetriableError,
)
from eosfw.records import SourceBatch, SourceRecord
from eosfw.runtime.status import TaskState
from eosfw.state.steps import STARTUP, TaskStep

from .counting import expected
from .fake import FakeCluster
from .stage import Stage, connector_of

OFFSETS = "send g-offsets"


class Scripted(SourceTask):
    """Returns what it was given, poll by poll, then nothing."""

    script: ClassVar[list[Any]] = []
    heard: ClassVar[list[str]] = []

    def start(self, config: Any, context: Any) -> None:
        self.context = context
        self.left = list(self.script)
        self.done = False

    def poll(self) -> Any:
        if not self.left:
            self.done = True
            return None
        item = self.left.pop(0)
        if isinstance(item, BaseException):
            raise item
        return item(self.context) if callable(item) else item

    def at_end(self) -> bool | None:
        return self.done

    def commit(self) -> None:
        self.heard.append("commit")

    def stop(self) -> None:
        self.heard.append("stop")


def scripted(*script: Any, **methods: Any) -> type[Scripted]:
    return type("Script", (Scripted,), {"script": list(script), "heard": [], **methods})


def batch(first: int, count: int = 2, topic: str = "t") -> SourceBatch:
    values = [b"%d" % number for number in range(first, first + count)]
    return SourceBatch(topic, values, {"p": "a"}, {"o": first + count})


def record(number: int, topic: str = "t", **more: Any) -> SourceRecord:
    return SourceRecord(topic, b"%d" % number, None, {"p": "a"}, {"o": number + 1}, **more)


def run(task: type[Scripted], **properties: str) -> Stage:
    """Run a scripted task to its end."""
    with Stage(connector_of(task)) as stage:
        stage.put("c", **properties)
        stage.until(lambda: stage.worker.drained(9) or bool(stage.worker.status().failures), "the end of the script")
    return stage


def failure(stage: Stage) -> str:
    (task,) = stage.worker.status().tasks
    assert task.state is TaskState.FAILED, task
    assert task.trace
    return str(task.error)


# --- transactions


def test_each_poll_is_one_transaction_with_the_offset_behind_it():
    """TXN-02, TXN-03, TXN-05: begin at the first record, offsets before the commit."""
    stage = run(scripted(batch(0), None, batch(2)))

    one = ["begin", "send_batch t 2", OFFSETS, "commit"]
    assert stage.cluster.calls == ["init", *one, *one, "close"]
    assert stage.cluster.committed("t") == [b"0", b"1", b"2", b"3"]


def test_the_steps_of_a_start_then_of_a_transaction_are_announced_in_order():
    """FEN-09: whoever listens can freeze a task between any two of them."""
    stage = run(scripted(batch(0)))

    wanted = [*STARTUP, TaskStep.POLL, TaskStep.BEGIN, TaskStep.SEND, TaskStep.SEND_OFFSETS, TaskStep.COMMIT]
    assert stage.steps()[: len(wanted) + 1] == [*wanted, TaskStep.COMMITTED]
    assert stage.steps()[-1] is TaskStep.STOPPED
    events = [event for event in stage.events if event.step in (TaskStep.SEND, TaskStep.COMMITTED)]
    assert [event.detail["records"] for event in events] == [2, 2]
    assert {event.transaction for event in events} == {1}
    assert {event.transactional_id for event in events} == {"g-c-0"}


def test_polls_without_records_never_touch_the_producer_yet_are_told():
    """TXN-06: no transaction, but `commit` is called each time."""
    task = scripted(None, [], None)
    stage = run(task)

    assert stage.cluster.calls == ["init", "close"]
    assert task.heard.count("commit") >= 3


def test_records_of_one_poll_travel_together_and_every_offset_is_noted():
    """TXN-04, ruling 33: a list of records becomes columns."""
    stage = run(scripted([record(0), record(1), record(2, topic="u")]))

    assert stage.cluster.calls[1:-1] == ["begin", "send_batch t 2", "send u", OFFSETS, "commit"]
    assert stage.cluster.committed("g-offsets") == [b'{"o":3}']


def test_with_an_interval_one_transaction_takes_many_polls():
    """BND-07, TXN-11: what is left is committed at the stop."""
    stage = run(scripted(batch(0), batch(2), batch(4)), transaction_boundary="interval")

    sends = ["send_batch t 2"] * 3
    assert stage.cluster.calls == ["init", "begin", *sends, OFFSETS, "commit", "close"]


def test_records_are_called_back_in_order_with_the_place_they_came_to():
    """TXN-05, ruling 26: after the commit, on the task's thread."""
    told: list[tuple[bytes, int]] = []
    task = scripted(
        [record(0), record(1)],
        commit_record=lambda _, one, metadata: told.append((one.value, metadata.offset)),
    )
    stage = run(task)

    assert told == [(b"0", 0), (b"1", 1)]
    assert stage.cluster.calls[1:-1] == ["begin", "send t", "send t", OFFSETS, "commit"]


def test_a_callback_that_raises_changes_nothing():
    """TXN-05: errors of `commit` and `commit_record` are logged."""

    def burst(*_: Any) -> None:
        raise ValueError("no")

    stage = run(scripted([record(0)], [record(1)], commit=burst, commit_record=burst))
    assert stage.cluster.committed("t") == [b"0", b"1"]


def test_identity_headers_tell_records_apart():
    """Ruling 7."""
    stage = run(scripted([record(0)]), eosfw_identity="headers")

    (entry,) = [entry for place, log in stage.cluster.logs.items() if place.topic == "t" for entry in log]
    assert dict(entry.headers) == {
        "eosfw.connector": b"c",
        "eosfw.source.partition": b'{"p":"a"}',
        "eosfw.source.offset": b'{"o":1}',
    }


# --- bad input


@pytest.mark.parametrize(
    ("polled", "said"),
    [
        ("text", "returned a str"),
        (5, "returned a int"),
        ([record(0), "x"], "returned a str at index 1"),
        ([record(0), batch(1)], "records beside batches"),
        ([record(0, topic="")], "names no topic"),
        ([SourceRecord(None, b"")], "names no topic"),
        ([record(0, topic="g-offsets")], "its own offsets topic"),
        ([record(0), SourceRecord("t", "text")], "SourceRecord at index 1 holds a str"),
        ([SourceRecord("t", b"", 5)], "holds a int as key or value"),
        (SourceBatch("t", [b"a", 1], {}, {}), "SourceBatch at index 0 holds a int"),
        (SourceBatch("t", [b"a"], {}, {}, keys=[b"k", b"l"]), "has 1 values, yet 2 keys"),
    ],
)
def test_what_is_no_record_fails_the_task_and_nothing_of_it_is_visible(polled, said):
    """TXN-15 and bad input: the message names what and where."""
    stage = run(scripted(polled))

    assert said in failure(stage)
    assert stage.cluster.committed("t") == []
    assert "commit" not in stage.cluster.calls


@pytest.mark.parametrize(
    "offset", [{"o": float("nan")}, {"o": 2**63}, {"o": [1]}, {"o": b"x"}, {1: 1}, {"o": "\ud800"}]
)
def test_an_offset_that_cannot_be_stored_leaves_nothing_visible(offset):
    """TXN-05: the producer's commit is not called; the transaction is aborted."""
    stage = run(scripted([SourceRecord("t", b"0", None, {"p": "a"}, offset)]))

    assert "cannot be stored" in failure(stage)
    assert stage.cluster.calls == ["init", "begin", "send t", "abort", "close"]
    assert stage.cluster.committed("t") == []


@pytest.mark.parametrize("error", [ValueError("broken"), SystemExit(3), KeyboardInterrupt()])
def test_a_poll_that_raises_fails_its_task_aborts_what_was_sent_and_stops_the_source(error):
    """TXN-11: failed means no commit; not even SystemExit ends the worker."""
    task = scripted(batch(0), error)
    stage = run(task, transaction_boundary="interval")

    failure(stage)
    assert stage.cluster.calls[-2:] == ["abort", "close"]
    assert stage.cluster.committed("t") == []
    assert task.heard == ["stop"]
    assert stage.steps()[-3:] == [TaskStep.ABORT, TaskStep.ABORTED, TaskStep.FAILED]


def test_a_poll_that_may_be_repeated_counts_as_no_records():
    """TXN-18."""
    stage = run(scripted(RetriableError("soon"), batch(0)))
    assert stage.cluster.committed("t") == [b"0", b"1"]


def test_a_task_that_cannot_start_never_polls():
    """TestFailureInOffsetStoreStart and its like: stop is called, clients are closed."""

    def start(self: Any, config: Any, context: Any) -> None:
        raise ValueError("no such file")

    task = scripted(batch(0), start=start)
    stage = run(task)

    assert "no such file" in failure(stage)
    assert TaskStep.POLL not in stage.steps()
    assert (stage.cluster.calls, task.heard) == (["init", "close"], ["stop"])


# --- a cluster in trouble


def troubled(call: str, *troubles: Any) -> FakeCluster:
    return FakeCluster(fail={call: list(troubles)})


def run_on(cluster: FakeCluster, task: type[Scripted]) -> Stage:
    with Stage(connector_of(task), cluster) as stage:
        stage.put("c")
        stage.until(lambda: stage.worker.drained(9) or bool(stage.worker.status().failures))
    return stage


def test_sending_again_keeps_the_transaction_open():
    """TXN-09: no commit in between, every offset once."""
    stage = run_on(troubled("send_batch t 2", RetriableError("full")), scripted(batch(0)))

    assert stage.cluster.calls == ["init", "begin", "send_batch t 2", "send_batch t 2", OFFSETS, "commit", "close"]
    assert stage.cluster.committed("t") == [b"0", b"1"]


def test_a_send_that_fails_fails_the_task_at_once():
    """TXN-08."""
    stage = run_on(troubled("send_batch t 2", AbortableError("too large")), scripted(batch(0)))

    assert failure(stage) == "too large"
    assert stage.cluster.calls == ["init", "begin", "send_batch t 2", "abort", "close"]


def test_a_commit_that_may_be_repeated_is_repeated():
    """PRD-11: only the same call."""
    stage = run_on(troubled("commit", RetriableError("moving")), scripted(batch(0)))
    assert stage.cluster.calls.count("commit") == 2
    assert stage.cluster.committed("t") == [b"0", b"1"]


def test_a_producer_that_cannot_be_initialised_fails_the_task_before_its_source_is_opened():
    """TestFailureInProducerInitialization."""
    stage = run_on(troubled("init", InvalidTransactionTimeoutError("too long")), scripted(batch(0)))

    assert failure(stage) == "too long"
    assert (stage.steps()[-2], stage.cluster.calls) == (TaskStep.INIT_PRODUCER, ["init", "close"])


class Resuming(Scripted):
    """Counts up to 6, two by two, from the committed offset."""

    def start(self, config: Any, context: Any) -> None:
        super().start(config, context)
        first = (context.offset({"p": "a"}) or {"o": 0})["o"]
        self.left = [batch(number) for number in range(first, 6, 2)]


@pytest.mark.parametrize("happened", [True, False])
def test_an_answer_that_was_lost_is_neither_a_loss_nor_a_repeat(happened):
    """Design decision 7: the producer is discarded, the start runs again, what was committed decides."""

    def commit_then_lose() -> None:
        if happened:
            txn = cluster.open.pop("g-c-0")
            txn.open = False
        raise IndefiniteOutcomeError("no answer")

    cluster = troubled("commit", lambda: None, commit_then_lose)
    stage = run_on(cluster, type("Resuming", (Resuming,), {"heard": []}))

    assert cluster.committed("t") == [b"%d" % number for number in range(6)]
    assert cluster.calls.count("init") == 2
    (notice,) = stage.worker.status().notices
    assert notice.kind == "indefinite outcome"
    assert TaskStep.FENCED not in stage.steps()


def test_an_owner_whose_transaction_timed_out_starts_over_and_is_told_the_remedies():
    """Ruling 3, TXN-10: a timeout looks like a fencing; the config log tells the difference."""
    cluster = troubled("commit", lambda: cluster.fence("g-c-0"))
    stage = run_on(cluster, type("Resuming", (Resuming,), {"heard": []}))

    assert cluster.committed("t") == [b"%d" % number for number in range(6)]
    assert stage.steps().count(TaskStep.FENCED) == 1
    (notice,) = stage.worker.status().notices
    assert "transaction.timeout.ms" in notice.text
    assert "transaction.boundary=poll" in notice.text
    assert not stage.worker.status().superseded


def test_an_owner_that_is_fenced_for_ever_fails_in_the_end():
    """Ruling 1: more than three times within one generation."""
    cluster = troubled("commit", *[lambda: cluster.fence("g-c-0")] * 9)
    stage = run_on(cluster, type("Resuming", (Resuming,), {"heard": []}))

    (task,) = stage.worker.status().tasks
    assert (task.state, type(task.error)) == (TaskState.FAILED, ProducerFencedError)
    assert "4 times within generation 0" in str(task.error)
    assert stage.steps().count(TaskStep.FENCED) == 4
    assert cluster.committed("t") == []


def test_a_cluster_that_stays_away_fails_the_task_with_its_address():
    """Bad input: bounded, named."""
    away = ClusterUnavailableError("no broker answered at h:9092")
    stage = run_on(troubled("init", away), scripted(batch(0)))
    assert failure(stage) == "no broker answered at h:9092"


# --- boundaries of the connector


def test_a_connector_ends_transactions_where_it_says():
    """BND-01, BND-02: later records of a batch belong to the next transaction."""
    first, second, third = record(0), record(1), record(2)

    def ask(context: Any) -> list[SourceRecord]:
        context.transaction.commit_record(second)
        return [first, second, third]

    stage = run(scripted(ask), transaction_boundary="connector")

    assert stage.cluster.committed("t") == [b"0", b"1"]
    assert stage.cluster.committed("g-offsets") == [b'{"o":2}']
    assert stage.cluster.calls == ["init", "begin", "send t", "send t", OFFSETS, "commit", "begin", "send t", "close"]


def test_what_a_connector_aborts_is_passed_not_read_again():
    """BND-03: an offsets-only transaction follows."""

    def ask(context: Any) -> list[SourceRecord]:
        context.transaction.abort()
        return [record(0), record(1)]

    stage = run(scripted(ask), transaction_boundary="connector")

    assert (stage.cluster.committed("t"), stage.cluster.committed("g-offsets")) == ([], [b'{"o":2}'])
    assert stage.cluster.calls[1:-1] == ["begin", "send t", "send t", "abort", "begin", OFFSETS, "commit"]


def test_aborting_nothing_never_reaches_the_producer():
    """BND-04."""

    def ask(context: Any) -> None:
        context.transaction.abort()

    stage = run(scripted(ask), transaction_boundary="connector")
    assert stage.cluster.calls == ["init", "close"]


def test_the_last_records_request_beats_the_opposite_for_its_batch():
    """BND-06, both ways round."""

    def commit_last(context: Any) -> list[SourceRecord]:
        context.transaction.abort()
        one = record(0)
        context.transaction.commit_record(one)
        return [one]

    def abort_last(context: Any) -> list[SourceRecord]:
        context.transaction.commit()
        one = record(1)
        context.transaction.abort_record(one)
        return [one]

    stage = run(scripted(commit_last, abort_last), transaction_boundary="connector")
    assert stage.cluster.committed("t") == [b"0"]


def test_opposite_requests_fail_the_task():
    """BND-05."""

    def ask(context: Any) -> list[SourceRecord]:
        context.transaction.commit()
        context.transaction.abort()
        return [record(0)]

    stage = run(scripted(ask), transaction_boundary="connector")
    assert "commit and to abort" in failure(stage)
    assert stage.cluster.committed("t") == []


def test_only_tasks_in_connector_mode_get_a_transaction_context():
    """BND-01: None otherwise."""
    seen: list[Any] = []
    task = scripted(lambda context: seen.append(context.transaction))
    run(task)
    assert seen == [None]


# --- without exactly-once


def test_without_exactly_once_offsets_follow_their_records():
    """CFG-01: flush, then the offset; no transaction, no fencing."""
    task = scripted(batch(0), batch(2))
    with Stage(connector_of(task), exactly_once_source_support="disabled") as stage:
        stage.put("c")
        stage.until(lambda: stage.worker.drained(9))

    task_calls = [call for call in stage.cluster.calls if call.startswith(("send_batch", OFFSETS, "begin", "fence"))]
    assert task_calls == ["send_batch t 2", "send_batch t 2", OFFSETS]
    assert TaskStep.INIT_PRODUCER not in stage.steps()
    assert stage.worker.status().records == 4


def test_two_streams_in_two_tasks_lose_and_repeat_nothing():
    """TXN-07, TXN-02, with the counting connector as everywhere."""
    with Stage() as stage:
        stage.put("c", streams="3", until="25", batch="4", tasks_max="2", shape="records")
        stage.until_drained()
    assert sorted(stage.cluster.committed("t")) == expected(3, 25)
