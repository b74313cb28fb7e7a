"""Histories with operations looked up, left out, replaced or added."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from checker.model_history import committed_transactions, numbered
from eosfw.checker import NONE, Operation

History = Sequence[Operation]
Plant = Callable[[list[Operation]], list[Operation]]
REQUEST = ("http://a", "PUT", "/connectors/c/fence", "digest")


def commit_of(history: History, number: int = 0) -> tuple[str, str, int]:
    return list(committed_transactions(history))[number]


def sends_of(history: History, writer: tuple[str, str, int], kind: str = "invoke") -> list[Operation]:
    return [each for each in history if (each.op, each.type) == ("send", kind) and each.writer == writer]


def logged(history: History, value: str) -> Operation:
    return next(each for each in history if each.op == "log" and each.val == value)


def one(history: History, op: str, **facts: object) -> Operation:
    return next(
        each for each in history
        if (each.op, each.type) == (op, "ok") and all(getattr(each, name) == fact for name, fact in facts.items())
    )  # fmt: skip


def without(history: History, *gone: Operation) -> list[Operation]:
    return [each for each in history if each not in gone]


def with_(history: History, old: Operation, *new: Operation) -> list[Operation]:
    return [after for each in history for after in (new if each is old else (each,))]


def hidden(history: History, values: Sequence[str], *, visible: bool = False) -> list[Operation]:
    shown = [replace(each, visible=visible) if each.op == "log" and each.val in values else each for each in history]
    return [each for each in shown if each.op != "poll"]  # the log alone is looked at


def with_boundary(history: History, boundary: str, **facts: object) -> list[Operation]:
    return [replace(each, val=boundary, **facts) if each.op == "start" else each for each in history]  # type: ignore[arg-type]


def asked_by_connector(history: History) -> list[Operation]:
    """A task asks in each poll to commit what that returns."""
    asked = with_boundary(history, "connector")
    polls = [each for each in asked if each.op == "source-poll"]
    return [
        after for each in asked
        for after in ((each, replace(each, op="request", val="commit")) if each in polls else (each,))
    ]  # fmt: skip


def requested(
    history: History, *, after: float = 0.0, ids: tuple[str, ...] = REQUEST, times: int = 1, age: int = NONE
) -> list[Operation]:
    """A worker asks another one for a fencing, which accepts that so many seconds later, and so often.

    `age` is what the clocks of the two make of that, in ms.
    """
    end = history[-1]
    signed = replace(end, proc="b", op="signed", val="key", ids=REQUEST, count=60_000)
    accepted = replace(end, proc="a", op="accepted", val="key", ids=ids, count=age)
    made = numbered([*history[:-1], signed, *[accepted] * times, end])
    return [replace(each, t=each.t + after) if each.op in ("accepted", "end") else each for each in made]
