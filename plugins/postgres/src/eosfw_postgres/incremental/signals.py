"""What a row of the signal table asks for, in the words of Debezium's signals."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

__all__ = ["ExecuteSnapshot", "Signal", "SignalError", "StopSnapshot", "signal_of"]


class SignalError(ValueError):
    """A signal that cannot be followed; its text says why, without what somebody has written there."""


@dataclass(frozen=True, slots=True)
class ExecuteSnapshot:
    """Read tables anew."""

    tables: tuple[re.Pattern[str], ...]
    """For whole names, SCHEMA.TABLE."""
    conditions: tuple[tuple[re.Pattern[str], str], ...] = ()
    """The condition for rows of tables, in SQL."""

    def names(self, table: str) -> bool:
        """Whether a table is among those to be read."""
        return any(one.fullmatch(table) for one in self.tables)

    def condition(self, table: str) -> str:
        """The condition for rows of a table; none if it is empty."""
        return next((condition for tables, condition in self.conditions if tables.fullmatch(table)), "")


@dataclass(frozen=True, slots=True)
class StopSnapshot:
    """Read tables no further; all of them, if none is named."""

    tables: tuple[re.Pattern[str], ...] = ()

    def names(self, table: str) -> bool:
        """Whether a table is among those to be left out."""
        return not self.tables or any(one.fullmatch(table) for one in self.tables)


Signal: TypeAlias = ExecuteSnapshot | StopSnapshot


def signal_of(kind: str | None, data: str | None) -> Signal | None:
    """The signal of a row's `type` and `data`; None for a type that asks for nothing here. SignalError."""
    if kind not in ("execute-snapshot", "stop-snapshot"):
        return None
    said = _object(data)
    if str(said.get("type", "incremental")).lower() != "incremental":
        raise SignalError(f"a signal {kind} has another type than 'incremental', and there is no other")
    tables = tuple(_pattern(one) for one in _list(said, "data-collections"))
    if kind == "stop-snapshot":
        return StopSnapshot(tables)
    if not tables:
        raise SignalError("a signal execute-snapshot names no tables in `data-collections`")
    if said.get("surrogate-key"):
        raise SignalError("a signal execute-snapshot has a `surrogate-key`, which is not supported")
    conditions = [_condition(one) for one in _list(said, "additional-conditions")]
    return ExecuteSnapshot(tables, tuple(conditions))


def _object(data: str | None) -> Mapping[str, object]:
    try:
        said = json.loads(data or "{}")
    except ValueError:
        said = None
    if not isinstance(said, dict):
        raise SignalError('the `data` of a signal is no JSON object such as {"data-collections": ["public.orders"]}')
    return said


def _list(said: Mapping[str, object], name: str) -> list[object]:
    found = said.get(name) or []
    if not isinstance(found, list):
        raise SignalError(f"`{name}` of a signal is no list")
    return found


def _condition(said: object) -> tuple[re.Pattern[str], str]:
    if not isinstance(said, dict) or not isinstance(said.get("filter"), str):
        raise SignalError("one of `additional-conditions` of a signal has no `data-collection` with a `filter`")
    return _pattern(said.get("data-collection")), said["filter"]


def _pattern(text: object) -> re.Pattern[str]:
    try:
        return re.compile(str(text), re.IGNORECASE)
    except re.error:
        raise SignalError("a signal names tables by what is no regular expression") from None
