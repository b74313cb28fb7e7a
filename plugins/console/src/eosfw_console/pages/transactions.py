"""Open transactions of the cluster, whom they hold back, and how to end them."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any, Final

from eosfw_console.pages.page import Page, PageRequest
from eosfw_console.worker_client import RestError

HANGING = "Hanging"
ROWS: Final = 25
"""Transactions, and partitions, on the page: their ages change all the time, so each look sends all of them."""


def transactions_page(request: PageRequest) -> Page:
    """`/ui/transactions`."""
    problem = None
    try:
        found = request.client.get("/transactions")
    except RestError as why:
        found, problem = [], why.message
    group = request.client.get("/group")
    owners = _owners(group)
    now = request.now() * 1000
    held = held_partitions(found)
    return Page(
        "transactions.html",
        ("open",),
        {
            "problem": problem,
            "transactions": [_shown(one, owners, now) for one in sorted(found, key=_urgency)[:ROWS]],
            "more_transactions": max(0, len(found) - ROWS),
            "held": sorted(held, key=lambda one: (one["started"] is not None, one["started"] or 0))[:ROWS],
            "more_held": max(0, len(held) - ROWS),
        },
    )


def _urgency(transaction: Mapping[str, Any]) -> tuple[bool, float]:
    """Those that nobody will end come first, then those that have been open for long."""
    return (transaction["state"] != HANGING, transaction["started"] or 0)


def held_partitions(transactions: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Each partition whose last stable offset is held, and by which transaction: the one that began first in it."""
    first: dict[tuple[str, int], dict[str, Any]] = {}
    for one in transactions:
        for partition in one["partitions"]:
            offset = partition["start_offset"]
            where = (partition["topic"], partition["partition"])
            if offset is not None and (where not in first or offset < first[where]["offset"]):
                first[where] = {
                    "topic": where[0],
                    "partition": where[1],
                    "offset": offset,
                    "holder": one["transactional_id"],
                    "producer_id": one["producer_id"],
                    "started": one["started"],
                }
    return [first[where] for where in sorted(first)]


def end_command(transaction: Mapping[str, Any]) -> str | None:
    """The command that ends a transaction; None where its producer's coordinator does it, and nobody else can."""
    if transaction["state"] != HANGING:
        name = transaction["transactional_id"]
        return None if name is None else f"eosfw txn fence {shlex.quote(name)}"
    for partition in transaction["partitions"]:
        if partition["start_offset"] is not None:
            where = shlex.quote(f"{partition['topic']}-{partition['partition']}")
            return f"eosfw txn abort {where} {partition['start_offset']}"
    return None


def _owners(group: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """By transactional id, the task that writes with it, and its worker."""
    return {
        f"{group['group_id']}-{task['connector']}-{task['task']}": {**task, "worker": worker["worker"]}
        for worker in group["workers"]
        for task in worker["tasks"]
    }


def _shown(transaction: Mapping[str, Any], owners: Mapping[str, Any], now: float) -> dict[str, Any]:
    started, timeout = transaction["started"], transaction["timeout_ms"]
    ends = None if started is None or timeout is None else started + timeout
    return {
        **transaction,
        "owner": owners.get(transaction["transactional_id"]),
        "age": None if started is None else (now - started) / 1000,
        "ends": ends,
        "left": None if ends is None else (ends - now) / 1000,
        "command": end_command(transaction),
    }
