"""A commit or abort repeated after a timeout is called once more, so that the next call starts clean."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from eosfw.concurrency import ThreadRuntime
from eosfw_confluent.backend import ConfluentBackend
from eosfw_memory.cluster import EmbeddedCluster
from eosfw_memory.faults import Delay
from pytest_eos.contracts.backends.harness import WAIT, BackendHarness, commit

SLOW = 0.8
"""Seconds of an answer: longer than one call into librdkafka."""


class Counting:
    """A librdkafka producer that counts the calls that end a transaction."""

    def __init__(self, client: object) -> None:
        self._client = client
        self.ends: list[str] = []

    def __getattr__(self, name: str) -> object:
        found = getattr(self._client, name)
        return partial(self._end, name, found) if name in ("commit_transaction", "abort_transaction") else found

    def _end(self, name: str, call: Callable[[float], None], timeout: float) -> None:
        self.ends.append(name)
        call(timeout)

    def __len__(self) -> int:
        return len(self._client)  # type: ignore[arg-type]


@pytest.mark.parametrize("end", ["commit_transaction", "abort_transaction"])
@pytest.mark.parametrize("slow", [True, False], ids=["slow", "quick"])
def test_the_transaction_state_is_checked_only_after_a_retried_end(end: str, slow: bool) -> None:  # noqa: FBT001
    """PRD-03, PRD-04: else librdkafka 2.16 may take the next transaction for begun that is not, and refuse its send."""
    runtime = ThreadRuntime()
    cluster = EmbeddedCluster.start({}, runtime)
    lab = BackendHarness(ConfluentBackend.connect({"bootstrap.servers": cluster.bootstrap_servers}, runtime), runtime)
    topic = lab.topic()
    producer = lab.open_transaction(topic, b"first")
    counting = Counting(producer._client)  # type: ignore[attr-defined]
    producer._client = counting  # type: ignore[attr-defined]
    if slow:
        cluster.faults.add(Delay("EndTxn", seconds=SLOW))

    getattr(producer, end)(WAIT)

    # Once more after two or more tries; a busy machine may need a second one for a quick end, too.
    assert len(counting.ends) > 2 or (counting.ends == [end] and not slow)
    commit(producer, topic, b"second")
    assert lab.values(topic) == [*([b"first"] if end == "commit_transaction" else []), b"second"]
    lab.close()
    cluster.close()
