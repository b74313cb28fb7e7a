"""How a task handles errors of the cluster."""

from __future__ import annotations

import gc
import weakref
from typing import Any

from eosfw.concurrency import ThreadRuntime
from eosfw.errors import (
    AbortableError,
    InvalidPidMappingError,
    InvalidTransactionTimeoutError,
    ProducerFencedError,
    RetriableError,
)
from eosfw.runtime.status import TaskState
from eosfw.state.steps import TaskStep

from ..fake_cluster import FakeCluster
from ..scripted_task import OFFSETS, Scripted, batch, failure, record, run, scripted


def troubled(call: str, *troubles: Any) -> FakeCluster:
    return FakeCluster(fail={call: list(troubles)})


def test_only_the_unsent_rest_of_a_poll_is_sent_again():
    """TXN-09: no boundary ends the transaction in the middle of a poll, and no record goes twice."""
    polled = [record(0), record(1), record(2, topic="u"), record(3)]
    stage = run(scripted(polled), troubled("send u", RetriableError("full"), RetriableError("full")))

    again = ["send u", "send u", "send u"]
    assert stage.cluster.calls[1:-1] == ["begin", "send t 2", *again, "send t", OFFSETS, "commit"]
    assert (stage.cluster.committed("t"), stage.cluster.committed("u")) == ([b"0", b"1", b"3"], [b"2"])


class PausesRuntime(ThreadRuntime):
    """Writes pauses down beside a cluster's calls."""

    def __init__(self, calls: list[str]) -> None:
        self._calls = calls

    def sleep(self, seconds: float) -> None:
        self._calls.append(f"pause {seconds:g}")
        super().sleep(min(seconds, 0.001))


def test_the_task_pauses_before_each_repeated_send():
    """TXN-09: Connect's 100 ms, for a batch as for offsets."""
    cluster = troubled("send t 2", RetriableError("full"), RetriableError("full"))
    cluster.fail[OFFSETS] = [RetriableError("full")]
    run(scripted(batch(0)), cluster, PausesRuntime(cluster.calls))

    calls = cluster.calls[: cluster.calls.index("commit")]
    sent = ["send t 2", "pause 0.1", "send t 2", "pause 0.1", "send t 2"]
    assert calls == ["init", "begin", *sent, OFFSETS, "pause 0.1", OFFSETS]


def test_a_send_that_fails_fails_the_task_at_once():
    """TXN-08; TXN-04: an offset counts once its record was sent, so there is none to commit."""
    stage = run(scripted(batch(0)), troubled("send t 2", AbortableError("too large")))

    assert failure(stage) == "too large"
    (failed,) = stage.worker._executor._current["c"][1]
    assert failed.task._transaction._output.pending_offsets.begin_flush() == []
    assert stage.cluster.calls == ["init", "begin", "send t 2", "abort", "close"]


def test_a_commit_that_may_be_repeated_is_repeated():
    """PRD-11: only the same call."""
    stage = run(scripted(batch(0)), troubled("commit", RetriableError("moving")))
    assert stage.cluster.calls.count("commit") == 2
    assert stage.cluster.committed("t") == [b"0", b"1"]


def test_a_failed_producer_initialisation_fails_the_task_before_its_source_starts():
    """TestFailureInProducerInitialization."""
    stage = run(scripted(batch(0)), troubled("init", InvalidTransactionTimeoutError("too long")))

    assert failure(stage) == "too long"
    assert (stage.steps()[-2], stage.cluster.calls) == (TaskStep.INIT_PRODUCER, ["init", "close"])


class Resuming(Scripted):
    """Counts up to 6, two by two, from the committed offset."""

    def start(self, config: Any, context: Any) -> None:
        super().start(config, context)
        first = (context.offset({"p": "a"}) or {"o": 0})["o"]
        self.left = [batch(number) for number in range(first, 6, 2)]


def test_an_owner_whose_id_expired_starts_over():
    """The coordinator forgets ids that nobody uses; the task still owns its share, so a new start heals it."""
    stage = run(
        type("Resuming", (Resuming,), {"heard": []}),
        troubled("send t 2", InvalidPidMappingError("the producer id is not assigned to its transactional id")),
    )

    assert stage.cluster.committed("t") == [b"%d" % number for number in range(6)]
    assert stage.cluster.calls.count("init") == 2
    (notice,) = stage.worker.status().notices
    assert (notice.kind, "had not been used for a long time" in notice.text) == ("transactional id expired", True)
    assert TaskStep.FENCED not in stage.steps()


def test_an_owner_that_is_fenced_for_ever_fails_in_the_end():
    """It is forgiven three times within one generation, no more."""
    cluster = troubled("commit", *[lambda: cluster.fence("g-c-0")] * 9)
    stage = run(type("Resuming", (Resuming,), {"heard": []}), cluster)

    (task,) = stage.worker.status().tasks
    assert (task.state, type(task.error)) == (TaskState.FAILED, ProducerFencedError)
    assert "4 times within generation 0" in str(task.error)
    assert stage.steps().count(TaskStep.FENCED) == 4
    assert cluster.committed("t") == []


def test_a_failed_task_keeps_its_error_without_the_errors_frames():
    """A status outlives its task; a client in an error's frames would keep its threads and connections."""

    class Held:
        """A stand-in for a client."""

    kept: list[weakref.ref[Held]] = []

    def fail(_: Any) -> None:
        client = Held()
        kept.append(weakref.ref(client))
        try:
            int("no number")
        except ValueError as why:
            raise RuntimeError("the source broke") from why

    stage = run(scripted(fail))

    assert "the source broke" in failure(stage)
    gc.collect()
    assert [one() for one in kept] == [None]
