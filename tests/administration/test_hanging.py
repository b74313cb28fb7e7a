"""A transaction hangs in a partition if its coordinator will write no marker there (KIP-664)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from eosfw.errors import ClusterUnavailableError, EosfwError, TransactionalIdNotFoundError
from eosfw.hanging_transactions import find_hanging
from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw.transactions import (
    ProducerState,
    TransactionDescription,
    TransactionFilters,
    TransactionListing,
    TransactionState,
)

HERE, THERE = TopicPartition("orders", 0), TopicPartition("orders", 1)
NOW = 1_800_000_000.0
HOLDER = ProducerIdAndEpoch(7, 3)
OLD = 3600.0


class Known:
    """An admin client that returns fixed answers."""

    def __init__(self, description: TransactionDescription | EosfwError | None, age: float = OLD) -> None:
        self.description, self.age = description, age
        self.longest: float | None = 900.0

    def describe_producers(self, partitions: Any) -> Mapping[TopicPartition, list[ProducerState]]:
        last = int((NOW - self.age) * 1000)
        idle = ProducerState(ProducerIdAndEpoch(8, 0), 0, last, None, None)
        return {where: [idle, ProducerState(HOLDER, 5, last, 0, 41)] for where in partitions}

    def list_transactions(self, filters: TransactionFilters) -> list[TransactionListing]:
        assert set(filters.producer_ids) == {HOLDER.producer_id}
        return (
            [] if self.description is None else [TransactionListing("id", HOLDER.producer_id, TransactionState.ONGOING)]
        )

    def describe_transactions(self, names: Any) -> Mapping[str, TransactionDescription | EosfwError | None]:
        assert set(names) == {"id"}
        return {"id": self.description}

    def max_transaction_timeout(self) -> float | None:
        return self.longest


def described(state: TransactionState, *partitions: TopicPartition) -> TransactionDescription:
    return TransactionDescription("id", 1, state, HOLDER, 60.0, None, frozenset(partitions))


def found(admin: Any, older_than: float | None = None) -> list[tuple[int, str | None]]:
    return [(one.start_offset, one.transactional_id) for one in find_hanging(admin, [HERE], NOW, older_than)]


@pytest.mark.parametrize(
    ("description", "expected"),
    [
        (None, [(41, None)]),
        (TransactionalIdNotFoundError("expired meanwhile"), [(41, "id")]),
        (described(TransactionState.ONGOING, HERE), []),
        (described(TransactionState.PREPARE_ABORT, THERE, HERE), []),
        (described(TransactionState.ONGOING, THERE), [(41, "id")]),
        (described(TransactionState.COMPLETE_COMMIT), [(41, "id")]),
        (described(TransactionState.EMPTY), [(41, "id")]),
    ],
    ids=["unknown producer", "forgotten id", "ongoing here", "marker due here", "ongoing elsewhere", "over", "empty"],
)
def test_a_transaction_hangs_unless_its_coordinator_will_still_end_it(description: Any, expected: list[Any]) -> None:
    """COR-18."""
    assert found(Known(description)) == expected


def test_a_coordinator_that_does_not_answer_proves_nothing() -> None:
    """COR-18: operators abort hanging transactions, so a wrong report would split a transaction."""
    with pytest.raises(ClusterUnavailableError):
        found(Known(ClusterUnavailableError("away")))


def test_a_young_transaction_is_not_reported_as_hanging() -> None:
    """COR-18: young means less than the longest timeout plus five minutes since the last write, by default."""
    assert found(Known(None, age=1199.0)) == []
    assert found(Known(None, age=1201.0)) == [(41, None)]
    assert found(Known(None, age=10.0), older_than=5.0) == [(41, None)]


def test_an_unknown_longest_timeout_defaults_to_kafkas() -> None:
    """COR-18: fifteen minutes."""
    admin = Known(None, age=1201.0)
    admin.longest = None

    assert found(admin) == [(41, None)]
