"""Explanation of a read to the end that waits on an open transaction: whose it is, and how to end it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing, contextmanager

from eosfw.errors import EosfwError, ReadStalledError, one_line
from eosfw.ids import ConnectorTaskId, TopicPartition, leader_transactional_id
from eosfw.protocols import Backend, IsolationLevel
from eosfw.records import OffsetRange

_LOOK = 10.0
"""Seconds, at most, for the read that finds the first undecided record; a busy client takes some to connect."""


@contextmanager
def stalls_explained(backend: Backend, group_id: str) -> Iterator[None]:
    """Add to the error of a stalled read who holds it back: the transactional id, its task, and the command to end it.

    A backend that cannot describe transactions is asked for the first undecided record instead, whose key tells the
    connector.
    """
    try:
        yield
    except ReadStalledError as error:
        causes = [_cause(backend, group_id, TopicPartition(topic, number), at) for topic, number, at in error.waiting]
        raise ReadStalledError("; ".join([str(error), *causes]), waiting=error.waiting) from error


def _cause(backend: Backend, group_id: str, where: TopicPartition, position: int) -> str:
    try:
        if not backend.capabilities.lacking("describe_transactions"):
            return _by_coordinator(backend, group_id, where)
        return _by_record(backend, group_id, where, position)
    except EosfwError as why:  # the stall is the error to report, not that it could not be explained
        return f"who holds {where} back could not be found out: {one_line(why)}"


def _by_coordinator(backend: Backend, group_id: str, where: TopicPartition) -> str:
    with closing(backend.admin()) as admin:
        holders = admin.open_transactions([where])
    if not holders:
        return f"nothing holds {where} back any more: try again"
    oldest = max(holders, key=lambda one: one.age)
    owner = _owner(oldest.transactional_id, group_id)
    return (
        f"transactional id {oldest.transactional_id!r}{owner} holds {where} back since offset {oldest.first_offset}, "
        f"for {oldest.age:.0f} s; its transaction timeout ends it, or now: eosfw txn fence {oldest.transactional_id}"
    )


def _by_record(backend: Backend, group_id: str, where: TopicPartition, position: int) -> str:
    key = _first_key(backend, where, position)
    match _parsed(key):
        case [str(connector), *_]:
            prefix = f"{group_id}-{connector}-"
            return (
                f"the first undecided record of {where} is of connector {connector!r}, so a transactional id "
                f"{prefix}N holds it back; its transaction timeout ends it, or now: eosfw txn list --state Ongoing, "
                f"then eosfw txn fence ID"
            )
        case _:
            leader = leader_transactional_id(group_id)
            return f"a transaction of the group's leader may hold {where} back: eosfw txn fence {leader}"


def _first_key(backend: Backend, where: TopicPartition, position: int) -> bytes | None:
    with closing(backend.admin()) as admin:
        end = admin.end_offsets([where], IsolationLevel.READ_UNCOMMITTED)[where]
    with closing(backend.reader(IsolationLevel.READ_UNCOMMITTED)) as reader:
        for batch in reader.read({where: OffsetRange(position, end)}, _LOOK):
            return batch.keys[0]
    return None


def _parsed(key: bytes | None) -> object:
    try:
        return None if key is None else json.loads(key)
    except (ValueError, RecursionError):
        return None


def _owner(transactional_id: str, group_id: str) -> str:
    """Whose id it is, by KIP-618's format."""
    if transactional_id == leader_transactional_id(group_id):
        return ", the leader of this group,"
    names, _, number = transactional_id.removeprefix(f"{group_id}-").rpartition("-")
    if transactional_id.startswith(f"{group_id}-") and names and number.isdecimal():
        return f", task {ConnectorTaskId(names, int(number))},"
    return ", of another program,"
