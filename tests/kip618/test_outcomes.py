"""After an unknown transaction outcome the task resumes from the committed offsets."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest

from eosfw.concurrency import ThreadRuntime
from eosfw.errors import IndefiniteOutcomeError
from eosfw.ids import TopicPartition
from eosfw.protocols import IsolationLevel
from eosfw.state.steps import TaskStep
from eosfw_memory.cluster import EmbeddedCluster
from eosfw_memory.faults import Fail

from .group import OVERLAP, Group, Served, exactly


class LosingProducer:
    """Loses the answer to one commit, after or before the cluster heard of it."""

    def __init__(self, producer: Any, lose: Callable[[], bool], *, happened: bool) -> None:
        self._producer, self._lose, self._happened = producer, lose, happened

    def __getattr__(self, name: str) -> Any:
        return getattr(self._producer, name)

    def commit_transaction(self, timeout: float) -> None:
        if not self._lose():
            return self._producer.commit_transaction(timeout)
        if self._happened:
            self._producer.commit_transaction(timeout)
        raise IndefiniteOutcomeError("the answer was lost")


class LosingBackend:
    """A backend whose second task commit gets no answer."""

    def __init__(self, backend: Any, *, happened: bool) -> None:
        self._backend, self._happened = backend, happened
        self.commits = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._backend, name)

    def producer(self, transactional_id: str | None, **more: Any) -> Any:
        producer = self._backend.producer(transactional_id, **more)
        if (transactional_id or "").startswith("connect-cluster-"):
            return producer
        return LosingProducer(producer, self._due, happened=self._happened)

    def _due(self) -> bool:
        self.commits += 1
        return self.commits == 2


@OVERLAP
@pytest.mark.parametrize("happened", [True, False], ids=["committed", "not committed"])
def test_a_lost_response_neither_loses_nor_repeats_records(cluster, happened, overlap):
    """The outcome is unknown: discard the producer, restart, read the committed offsets, replay.

    What was polled meanwhile was sent by nobody.
    """
    wrap = lambda backend: LosingBackend(backend, happened=happened)  # noqa: E731
    with Group(cluster, wrap=wrap) as group:
        group.put(streams="1", until="30", batch="5", transaction_commit_overlap=overlap)
        group.until_drained()

        assert group.committed() == exactly(1, 30)
        assert [notice.kind for notice in group.worker.status().notices] == ["indefinite outcome"]
        assert [event.step for event in group.events].count(TaskStep.INIT_PRODUCER) == 2


@pytest.mark.parametrize("client", ["memory", "confluent", "kafka-python"])
def test_an_owner_checks_its_ownership_after_an_unknown_server_error(client):
    """An end that races with the id's next holder gets UNKNOWN_SERVER_ERROR from Kafka at times."""
    embedded = EmbeddedCluster.start({}, ThreadRuntime())
    with closing(embedded), Group(Served(embedded.bootstrap_servers, client)) as group:
        task = f"{group.name}-c-0"
        fault = embedded.faults.add(Fail("EndTxn", code="UNKNOWN_SERVER_ERROR", nth=2, transactional_id=task))
        group.put(streams="1", until="30", batch="5")
        group.until_drained()

        assert fault.fired
        assert group.committed() == exactly(1, 30)
        assert [notice.kind for notice in group.worker.status().notices] == ["indefinite outcome"]


@pytest.mark.sends_before_the_commit
def test_an_owner_paused_past_its_transaction_timeout_restarts(cluster):
    """TXN-10: the coordinator aborted it; it still owns its share, so one new start replays it."""
    with Group(cluster) as group:
        gate = group.gates.freeze(TaskStep.COMMIT, task=0, nth=2)
        override = {"producer.override.transaction.timeout.ms": "3000"}
        group.put(streams="1", until="30", batch="5", **override)
        assert gate.reached.wait(30)
        await_abort(group)
        gate.open()
        group.until_drained()

        assert group.committed() == exactly(1, 30)
        assert any(event.step is TaskStep.FENCED for event in group.events)
        # A busy machine may hold up another transaction for as long.
        *_, notice = notices = group.worker.status().notices
        assert {one.kind for one in notices} == {"fenced while owner"}
        assert "its transaction was open for longer than its timeout, so the coordinator aborted it" in notice.text
        assert "Raise `producer.override.transaction.timeout.ms`" in notice.text


def test_a_task_that_another_client_fenced_says_so_and_goes_on(cluster):
    """An application, or an administrator, initialises its id once; within its timeout no coordinator aborts."""
    with Group(cluster) as group:
        gate = group.gates.freeze(TaskStep.COMMIT, task=0, nth=2)
        group.put(streams="1", until="30", batch="5")
        assert gate.reached.wait(30)
        with closing(group.backend.producer(f"{group.name}-c-0")) as intruder:
            intruder.init_transactions(30.0)
        gate.open()
        group.until_drained()

        assert group.committed() == exactly(1, 30)
        (notice,) = group.worker.status().notices
        assert notice.kind == "fenced by another client"
        assert "another client, or an administrator, initialised its transactional id" in notice.text
        assert "transaction.timeout.ms" not in notice.text


def await_abort(group: Group) -> None:
    """Wait until the coordinator itself aborted the second transaction: until what lies behind it can be read."""
    partition, both = TopicPartition(group.topic, 0), 2 * (5 + 1)  # five records and a marker each
    admin = group.backend.admin()
    group.until(
        lambda: admin.end_offsets([partition], IsolationLevel.READ_COMMITTED)[partition] >= both,
        "the coordinator's own abort",
    )
    admin.close()
