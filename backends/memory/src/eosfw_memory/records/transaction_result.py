"""How a transaction ends: Kafka's `TransactionResult`."""

from __future__ import annotations

from enum import Enum


class TransactionResult(Enum):
    """Commit or abort."""

    COMMIT = "commit"
    ABORT = "abort"

    # The interpreter's own hash: that of `Enum` is a call into Python, once for every look-up in a table.
    __hash__ = object.__hash__
