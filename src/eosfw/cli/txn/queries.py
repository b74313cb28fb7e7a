"""Queries about the transactions of a cluster; the answers are rows for people and programs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from eosfw.config.definition.config_def import nearest
from eosfw.errors import EosfwError, TransactionalIdNotFoundError
from eosfw.ids import TopicPartition

if TYPE_CHECKING:
    from eosfw.cli.connection import Session
    from eosfw.hanging_transactions import HangingTransaction
    from eosfw.protocols import Admin
    from eosfw.transactions import TransactionDescription, TransactionFilters

Row = Mapping[str, Any]


def transaction_rows(session: Session, filters: TransactionFilters) -> list[Row]:
    """One row per transactional id, sorted; for open transactions with their age and partitions."""
    found = sorted(session.admin.list_transactions(filters), key=lambda one: one.transactional_id)
    known, _ = _describe(session.admin, [one.transactional_id for one in found if one.state.is_open])
    open_ones = {one.transactional_id: one for one in known}
    now = session.runtime.wall()
    return [
        {
            "transactional_id": one.transactional_id,
            "producer_id": one.producer_id,
            "state": one.state.value,
            "open_seconds": _open_seconds(open_ones.get(one.transactional_id), now),
            "partitions": _partitions(open_ones.get(one.transactional_id)),
        }
        for one in found
    ]


def _open_seconds(one: TransactionDescription | None, now: float) -> float | None:
    return None if one is None or one.started is None else round(max(0.0, now - one.started / 1000), 3)


def _partitions(one: TransactionDescription | None) -> list[str]:
    return [] if one is None else [str(each) for each in sorted(one.partitions)]


def descriptions(admin: Admin, names: Collection[str]) -> list[TransactionDescription]:
    """The description of every id; raises the error of the first that is unknown or may not be described."""
    found, failures = _describe(admin, names)
    for one in failures:
        raise one
    return found


def description_rows(session: Session, names: Sequence[str]) -> tuple[list[Row], list[EosfwError]]:
    """One row per id, with each partition of its transaction and the offset since which it is open there.

    The second list holds the errors of ids without a row.
    """
    found, failures = _describe(session.admin, names)
    return _rows(session, found), failures


def _describe(admin: Admin, names: Collection[str]) -> tuple[list[TransactionDescription], list[EosfwError]]:
    answers = admin.describe_transactions(names) if names else {}
    failures = {name: one for name, one in answers.items() if isinstance(one, EosfwError)}
    unknown = [name for name, why in failures.items() if isinstance(why, TransactionalIdNotFoundError)]
    every = [each.transactional_id for each in admin.list_transactions()] if unknown else []
    for name in unknown:
        if near := nearest(name, every):
            failures[name] = TransactionalIdNotFoundError(f"{failures[name]}; did you mean {near!r}?")
    return [one for one in answers.values() if not isinstance(one, EosfwError)], list(failures.values())


def _rows(session: Session, found: Collection[TransactionDescription]) -> list[Row]:
    from eosfw.transactions import open_offsets

    since = open_offsets(session.admin, found)
    now = session.runtime.wall()
    return [
        {
            "transactional_id": one.transactional_id,
            "state": one.state.value,
            "coordinator": one.coordinator,
            "producer_id": one.producer.producer_id,
            "producer_epoch": one.producer.epoch,
            "timeout_seconds": one.timeout,
            "open_seconds": _open_seconds(one, now),
            "partitions": [
                {"partition": str(each), "start_offset": since.get((each, one.producer.producer_id))}
                for each in sorted(one.partitions)
            ],
        }
        for one in found
    ]


def hanging_rows(session: Session, topics: Collection[str] | None, older_than: float | None) -> list[Row]:
    """One row per hanging transaction, in some topics or in all."""
    from eosfw.hanging_transactions import find_hanging

    partitions = all_partitions(session.admin, topics)
    found = find_hanging(session.admin, partitions, session.runtime.wall(), older_than)
    return [hanging_row(one, session.runtime.wall()) for one in found]


def hanging_row(one: HangingTransaction, now: float) -> Row:
    """The row of a hanging transaction, with the arguments for `eosfw txn abort`."""
    return {
        "partition": str(one.partition),
        "start_offset": one.start_offset,
        "producer_id": one.state.producer.producer_id,
        "producer_epoch": one.state.producer.epoch,
        "idle_seconds": round(max(0.0, now - one.state.last_timestamp / 1000), 3),
        "transactional_id": one.transactional_id,
    }


def all_partitions(admin: Admin, topics: Collection[str] | None) -> list[TopicPartition]:
    """The partitions of some topics or of all; the error for an unknown topic names the nearest."""
    counts = admin.partitions(topics or None)
    for topic in topics or ():
        if topic not in counts:
            from eosfw.errors import UnknownTopicOrPartitionError

            near = nearest(topic, admin.partitions())
            hint = f"; did you mean {near!r}?" if near else ""
            raise UnknownTopicOrPartitionError(f"there is no topic {topic!r}{hint}")
    return [TopicPartition(topic, number) for topic, count in sorted(counts.items()) for number in range(count)]
