"""The names of the points of the broker's work at which a fault can happen."""

from __future__ import annotations

from functools import cache
from types import MappingProxyType
from typing import Final

from eosfw_memory.server.coordinators.groups.group_records import GroupKey, read_key
from eosfw_memory.server.coordinators.transaction_metadata import TransactionMetadata
from eosfw_memory.server.coordinators.transaction_state import TransactionState
from eosfw_memory.server.protocol.routes import ROUTES, api_name

_S = TransactionState
WRITES: Final = MappingProxyType(
    {
        "append": "record batches of a client are appended to a partition",
        "empty": "the transaction log takes in that an id has a new holder",
        "ongoing": "the transaction log takes in that a transaction touches more partitions",
        "prepare": "the transaction log takes in that a transaction will commit, or abort",
        "marker": "a marker is written into one partition of a transaction that was decided",
        "complete": "the transaction log takes in that every marker is written",
        "forget": "the transaction log takes in that an id has expired",
        "offsets": "the log of groups takes in offsets, in a transaction or not",
        "materialize": "offsets in the log of groups count from now on, or never will: their transaction has ended",
        "group": "the log of groups takes in who is in a group",
        "forget-group": "the log of groups takes in that offsets, or a whole group, are gone",
    }
)
"""What the broker writes: each write has a point before it and a point after it."""

OF_STATE: Final = MappingProxyType(
    {
        _S.EMPTY: "empty",
        _S.ONGOING: "ongoing",
        _S.PREPARE_COMMIT: "prepare",
        _S.PREPARE_ABORT: "prepare",
        _S.COMPLETE_COMMIT: "complete",
        _S.COMPLETE_ABORT: "complete",
    }
)
"""The write that takes a transactional id into a state."""


@cache
def requests() -> dict[str, int]:
    """Every request the broker serves, by its name in Kafka's protocol."""
    return {api_name(route.module): route.key for route in ROUTES.values()}


def of_change(after: TransactionMetadata | None) -> str:
    """The write that appends this change to the transaction log."""
    return "forget" if after is None else OF_STATE[after.state]


def of_group_record(key: bytes, value: bytes | None) -> str:
    """The write that appends this record to the log of groups."""
    if value is None:
        return "forget-group"
    return "group" if isinstance(read_key(key), GroupKey) else "offsets"


def before(what: str) -> str:
    """The point before a write, or before a request has any effect."""
    return f"before-{what}"


def after(what: str) -> str:
    """The point after a write, or after the effect of a request, before its answer."""
    return f"after-{what}"


def points() -> list[str]:
    """Every point there is."""
    return [side(what) for what in (*WRITES, *requests()) for side in (before, after)]


def refusable() -> list[str]:
    """The points at which something is about to be written."""
    return [before(what) for what in WRITES]
