"""A look at a worker group as tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from rich.console import RenderableType

from eosfw.cli.output.console import plain_text, table
from eosfw.cli.top.counts import Counts, rate
from eosfw.cli.top.look import Look
from eosfw.observe import severity, worst_state
from eosfw.text import error_line, quantity

_MOST_TRANSACTIONS: Final = 5
_NONE: Final = "-"
_FRAME: Final = 9
"""Lines that are there whatever the group does: headings and what lies between tables."""


def screen(now: Look, before: Look | None, lines: int | None = None) -> Iterator[RenderableType]:
    """The tables; connectors with trouble come first, and as many as `lines` have room for."""
    yield plain_text(_headline(now), "bold")
    if now.group["notice"]:
        yield plain_text(str(now.group["notice"]))
    yield plain_text("")
    yield table(["WORKER", "TASKS", "REST INTERFACE", ""], [_worker(one, now) for one in now.group["workers"]])
    yield plain_text("")
    held = list(now.transactions[:_MOST_TRANSACTIONS])
    room = None if lines is None else max(1, lines - _FRAME - len(now.group["workers"]) - len(held))
    rows = sorted((_row(one, now, before) for one in now.statuses), key=_urgency)
    yield table(
        ["CONNECTOR", "STATE", "TASKS", "RECORDS/S", "TRANSACTIONS/S", "REASON"], [row[:6] for row in rows[:room]]
    )
    if room is not None and len(rows) > room:
        yield plain_text(f"and {quantity(len(rows) - room, 'more connector')}")
    if held:
        yield plain_text("")
        yield table(["OPEN TRANSACTION", "STATE", "FOR", "HOLDS BACK READERS OF"], [_held(one, now) for one in held])


def _headline(now: Look) -> str:
    group = now.group
    balance = "rebalancing" if group["rebalancing"] else "in balance"
    connectors = quantity(len(now.statuses), "connector")
    return f"{group['group_id']}: generation {group['generation']}, {balance}, {connectors}"


def _worker(worker: Mapping[str, Any], now: Look) -> Sequence[str]:
    words = ["leads"] if worker["leader"] else []
    words += ["does not answer"] if worker["url"] in now.quiet else []
    return [worker["worker"], f"{len(worker['tasks'])}", worker["url"] or _NONE, ", ".join(words)]


def _row(status: Mapping[str, Any], now: Look, before: Look | None) -> Sequence[str]:
    name, state = status["name"], worst_state(status)
    counts, earlier = now.counts.get(name), None if before is None else before.counts.get(name)
    seconds = 0.0 if before is None else now.at - before.at
    return [name, state, f"{len(status['tasks'])}", *_rates(counts, earlier, seconds), _reason(status)]


def _rates(counts: Counts | None, earlier: Counts | None, seconds: float) -> Sequence[str]:
    if counts is None or earlier is None:
        return [_NONE, _NONE]
    found = (rate(late, early, seconds) for late, early in zip(counts, earlier, strict=True))
    return [_NONE if one is None else f"{one:,.0f}" if one >= 10 or one == 0 else f"{one:.1f}" for one in found]


def _reason(status: Mapping[str, Any]) -> str:
    reasons = (error_line(one.get("trace")) for one in (status["connector"], *status["tasks"]))
    return next(filter(None, reasons), "")


def _urgency(row: Sequence[str]) -> tuple[int, str]:
    return severity(row[1]), row[0]


def _held(transaction: Mapping[str, Any], now: Look) -> Sequence[str]:
    started = transaction["started"]
    partitions = [f"{one['topic']}-{one['partition']}" for one in transaction["partitions"]]
    more = f" and {len(partitions) - 3} more" if len(partitions) > 3 else ""
    return [
        transaction["transactional_id"] or f"producer {transaction['producer_id']}",
        transaction["state"],
        _NONE if started is None else f"{max(0.0, now.wall - started / 1000):,.0f} s",
        ", ".join(partitions[:3]) + more or _NONE,
    ]
