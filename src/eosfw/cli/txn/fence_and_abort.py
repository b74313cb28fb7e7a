"""Fencing of producers and abort of hanging transactions, each with a look at the last stable offset."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from eosfw.cli.txn.fencers import fence_by_choice
from eosfw.cli.txn.queries import all_partitions, descriptions, hanging_row
from eosfw.errors import ClusterUnavailableError, ConfigError, Problem
from eosfw.ids import ProducerIdAndEpoch, TopicPartition

if TYPE_CHECKING:
    from eosfw.cli.connection import Session
    from eosfw.cli.txn.queries import Row

_PAUSE = 0.05


def unknown_ids_warning(session: Session, names: Sequence[str]) -> str:
    """The warning for fencing with a client that cannot describe transactions."""
    shown = ", ".join(map(repr, names))
    return f"backend {session.backend.name!r} cannot look ids up: whether anybody ever used {shown} is not known"


def fencing_plan(session: Session, names: Sequence[str]) -> list[Row]:
    """What fencing these ids would abort, as far as this client can describe transactions."""
    if not session.can("describe_transactions"):
        return [{"transactional_id": name} for name in names]
    return [
        {
            "transactional_id": one.transactional_id,
            "state": one.state.value,
            "aborts": [str(each) for each in sorted(one.partitions)],
        }
        for one in descriptions(session.admin, names)
    ]


def fence(session: Session, names: Sequence[str], timeout: float) -> list[Row]:
    """Fence ids, then wait until none of their transactions is open in a partition; raise the first failure."""
    held = _held_by(session, names)
    before = _stable(session, held)
    fence_by_choice(session, names, timeout)
    _await_free(session, names, held, timeout)
    after = _stable(session, held)
    producers = _producers(session, names)
    return [
        {
            "transactional_id": name,
            "producer_id": None if producers is None else producers[name].producer_id,
            "producer_epoch": None if producers is None else producers[name].epoch,
            "last_stable_offsets": [
                {"partition": str(each), "before": before[each], "after": after[each]} for each in held[name]
            ],
        }
        for name in names
    ]


def hanging_transaction(session: Session, where: TopicPartition, start_offset: int, *, force: bool) -> Row:
    """The hanging transaction that is to be aborted; ConfigError if its coordinator will end it, unless forced."""
    from eosfw.errors import TransactionNotFoundError
    from eosfw.hanging_transactions import HangingTransaction, find_hanging

    if where not in all_partitions(session.admin, [where.topic]):
        raise ConfigError(Problem("PARTITION", f"topic {where.topic!r} has no partition {where.partition}"))
    now = session.runtime.wall()
    states = session.admin.describe_producers([where])[where]
    found = next((each for each in states if each.open_since == start_offset), None)
    if found is None:
        known = ", ".join(str(each.open_since) for each in states if each.open_since is not None) or "none"
        raise TransactionNotFoundError(f"{where}: nothing is open since offset {start_offset}; open since: {known}")
    hangs = {one.start_offset: one for one in find_hanging(session.admin, [where], now, older_than=0.0)}
    if start_offset not in hangs and not force:
        holders = session.admin.open_transactions([where])
        name = next((one.transactional_id for one in holders if one.first_offset == start_offset), "its id")
        why = f"the coordinator of {name!r} will end it itself: `eosfw txn fence {name}`, or --force to split it"
        raise ConfigError(Problem(f"{where}, offset {start_offset}", why))
    return hanging_row(hangs.get(start_offset) or HangingTransaction(where, found, None), now)


def abort(session: Session, where: TopicPartition, start_offset: int) -> Row:
    """Abort one transaction in one partition; the row says how its last stable offset moved."""
    before = _stable(session, {"": [where]})[where]
    aborted = session.admin.abort_transaction(where, start_offset)
    after = _stable(session, {"": [where]})[where]
    return {
        "partition": str(where),
        "start_offset": start_offset,
        "producer_id": aborted.producer.producer_id,
        "last_stable_offset_before": before,
        "last_stable_offset_after": after,
    }


def _producers(session: Session, names: Collection[str]) -> Mapping[str, ProducerIdAndEpoch] | None:
    """Who holds each id now; None where the client cannot tell."""
    if not session.can("describe_transactions"):
        return None
    return {one.transactional_id: one.producer for one in descriptions(session.admin, names)}


def _held_by(session: Session, names: Collection[str]) -> Mapping[str, list[TopicPartition]]:
    if not session.can("describe_transactions"):
        return {name: [] for name in names}
    found = descriptions(session.admin, names)
    return {one.transactional_id: sorted(_readable(one.partitions)) for one in found}


def _readable(partitions: Collection[TopicPartition]) -> list[TopicPartition]:
    # Transactions may hold offsets of consumer groups; few users may read the topic of these.
    return [one for one in partitions if one.topic != "__consumer_offsets"]


def _stable(session: Session, held: Mapping[str, Sequence[TopicPartition]]) -> Mapping[TopicPartition, int]:
    from eosfw.protocols import IsolationLevel

    partitions = sorted({each for every in held.values() for each in every})
    return session.admin.end_offsets(partitions, IsolationLevel.READ_COMMITTED) if partitions else {}


def _await_free(
    session: Session, names: Collection[str], held: Mapping[str, Sequence[TopicPartition]], timeout: float
) -> None:
    partitions = sorted({each for every in held.values() for each in every})
    deadline = session.runtime.now() + timeout
    while left := _holding(session, names, partitions):
        if session.runtime.now() >= deadline:
            raise ClusterUnavailableError(f"fenced, but markers are still missing in {', '.join(map(str, left))}")
        session.runtime.sleep(_PAUSE)


def _holding(session: Session, names: Collection[str], partitions: Sequence[TopicPartition]) -> list[Any]:
    if not partitions:
        return []
    holders = session.admin.open_transactions(partitions)
    return [one.partition for one in holders if one.transactional_id in names]
