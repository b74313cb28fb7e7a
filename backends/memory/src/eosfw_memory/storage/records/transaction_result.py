"""How a transaction ends: Kafka's `TransactionResult`."""

from __future__ import annotations

from enum import Enum


class TransactionResult(Enum):
    """Commit or abort."""

    COMMIT = "commit"
    ABORT = "abort"
