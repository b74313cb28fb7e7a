"""Anomalies of streaming queries, each planted in a history that has none."""

from __future__ import annotations

from dataclasses import replace

from checker.history_edits import (
    History,
    Plant,
    one,
    with_,
)
from eosfw.checker import Operation


def batch_replayed(history: list[Operation]) -> list[Operation]:
    """The first row of the first batch is once more in the second one's transaction."""
    row = _row(history, 1)
    return with_(history, row, replace(row, txn=0, src_part="q/0/0"))


def _row(history: History, batch: int) -> Operation:
    return one(history, "log", connector="q", txn=batch)


def two_attempts(history: list[Operation]) -> list[Operation]:
    """Another attempt of a task has its first row in the place of the second."""
    first, second = [each for each in history if each.op == "log" and each.connector == "q"][:2]
    return with_(history, second, replace(second, src_off=first.src_off, gen=1))


def partial_batch(history: list[Operation]) -> list[Operation]:
    token = one(history, "token", txn=1)
    return with_(history, token, replace(token, count=token.count + 1))


def lost_batch(history: list[Operation]) -> list[Operation]:
    """The checkpoint has a batch that was never published."""
    checkpoint = one(history, "checkpoint", txn=1)
    return with_(history, checkpoint, checkpoint, replace(checkpoint, txn=2))


IN_QUERIES: tuple[Plant, ...] = (batch_replayed, two_attempts, partial_batch, lost_batch)
