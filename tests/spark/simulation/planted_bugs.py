"""Bugs that are planted in the sink to see that the simulation finds them; each takes one protection away."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pytest
from tests.simulation.planted_bugs import admit_zombies

from eosfw.records import ProducerBatch
from eosfw.runtime import TransactionalCommit
from eosfw_spark.sink import atomic_write, parallel_write
from eosfw_spark.sink.committer import AtomicCommitter
from eosfw_spark.sink.shared import shared_transaction_sink
from eosfw_spark.sink.tokens.token import Token, TokenDecision, Verdict
from eosfw_spark.sink.tokens.token_producer import StepAnnouncer, TokenProducer
from pytest_eos.simulation.fault_plan import PlannedFault

from .faults import SparkFault

Plant = Callable[[pytest.MonkeyPatch], None]


def look_at_no_token(patch: pytest.MonkeyPatch) -> None:
    """Each batch that comes is published."""
    for module in (atomic_write, shared_transaction_sink):
        patch.setattr(module, "decide", lambda *_, **__: TokenDecision(Verdict.PUBLISH))


def commit_rows_before_token(patch: pytest.MonkeyPatch) -> None:
    """The token is written in a transaction of its own, behind that of the rows."""
    publish = TokenProducer.publish

    def rows_first(
        self: TokenProducer, rows: Iterable[ProducerBatch], token: Callable[[], Token], announce: StepAnnouncer
    ) -> None:
        producer = self._producer
        producer.begin_transaction()
        for batch in rows:
            producer.send_batch(batch)
        TransactionalCommit(producer, self._cluster.transaction_timeout, self._runtime).commit()
        publish(self, (), token, announce)

    patch.setattr(TokenProducer, "publish", rows_first)


def read_token_before_fencing(patch: pytest.MonkeyPatch) -> None:
    """The token is read first: until the earlier holder is fenced, it may publish."""
    init = TokenProducer.__init__

    def read_first(self: TokenProducer, identity: Any, cluster: Any, *more: Any) -> None:
        last = cluster.tokens.read(identity.key)
        init(self, identity, cluster, *more)
        self.last = last

    patch.setattr(TokenProducer, "__init__", read_first)


def repeat_commit_without_looking(patch: pytest.MonkeyPatch) -> None:
    """A commit of which nobody knows what became of it is done again, by what the token said before."""
    fence, before = AtomicCommitter._fence, list[AtomicCommitter]()

    def fence_again(self: AtomicCommitter, *given: Any) -> TokenProducer:
        last = self._last
        producer = fence(self, *given)
        if self in before:
            self._last = last
        before.append(self)
        return producer

    patch.setattr(AtomicCommitter, "_fence", fence_again)


def take_broken_rows_for_all(patch: pytest.MonkeyPatch) -> None:
    """Rows that break off are taken for the whole partition, as Arrow does."""
    patch.setattr(parallel_write, "whole_input", iter)


def _take_over(step: str, nth: int = 1) -> PlannedFault:
    return SparkFault("take-over", "any", nth, 15.0, step=step)


BUGS: Mapping[str, tuple[str, Plant, PlannedFault]] = {
    "the token is not looked at": ("atomic", look_at_no_token, _take_over("batch:commit")),
    "the token is not looked at, shared": (
        "shared",
        look_at_no_token,
        PlannedFault("crash", "any", 1, 3.0, step="batch:committed"),
    ),
    "the token is in a transaction of its own": (
        "atomic",
        commit_rows_before_token,
        PlannedFault("crash", "any", 1, 3.0, step="batch:commit"),
    ),
    "the token is read before fencing": ("atomic", read_token_before_fencing, _take_over("batch:fence")),
    "the token of a partition is read before fencing": (
        "parallel",
        read_token_before_fencing,
        _take_over("batch:fence"),
    ),
    "a commit is repeated without a look": ("atomic", repeat_commit_without_looking, PlannedFault("lose", "EndTxn", 2)),
    "broken rows are taken for all": (
        "parallel",
        take_broken_rows_for_all,
        SparkFault("broken-rows", "any", 2, step="batch:write"),
    ),
    "zombies are not refused": ("atomic", admit_zombies, _take_over("batch:publish", 2)),
    "zombies are not refused, parallel": ("parallel", admit_zombies, _take_over("batch:write", 2)),
    "zombies are not refused, shared": ("shared", admit_zombies, _take_over("batch:write", 2)),
}
"""Each bug: the mode that it is planted in, and a fault that shows it."""
