"""The open transactions that hold back the last stable offset (LSO) of partitions."""

from __future__ import annotations

from collections.abc import Collection

from eosfw.ids import TopicPartition
from eosfw.protocols import OpenTransaction
from eosfw.transactions import TransactionAdmin, TransactionDescription, TransactionFilters

__all__ = ["open_transactions"]


def open_transactions(
    admin: TransactionAdmin, partitions: Collection[TopicPartition], now: float
) -> list[OpenTransaction]:
    """What `Admin.open_transactions` returns; `now` is in seconds since 1970."""
    holders = [
        (where, each)
        for where, states in admin.describe_producers(partitions).items()
        for each in states
        if each.open_since is not None
    ]
    if not holders:
        return []
    producer_ids = frozenset(each.producer.producer_id for _, each in holders)
    listed = admin.list_transactions(TransactionFilters(producer_ids=producer_ids))
    names = {each.producer_id: each.transactional_id for each in listed}
    known = admin.describe_transactions(frozenset(names.values())) if names else {}
    found = []
    for where, each in holders:
        name = names.get(each.producer.producer_id, f"(unknown id of producer {each.producer.producer_id})")
        described = known.get(name)
        started = described.started if isinstance(described, TransactionDescription) else None
        age = 0.0 if started is None else max(0.0, now - started / 1000)
        first = -1 if each.open_since is None else each.open_since
        found.append(OpenTransaction(name, each.producer, where, first, age))
    return found
