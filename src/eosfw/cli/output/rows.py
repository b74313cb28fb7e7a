"""Rows as a table or paragraphs for people, as JSON for programs; rich is imported when they are drawn."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Self

if TYPE_CHECKING:
    from rich.table import Table

    from eosfw.cli.output.console import TerminalStyle

_NONE = "-"
_FEW = 4
"""How many parts of a value a cell of a table shows."""
Rows = Sequence[Mapping[str, Any]]


class RowFormat(NamedTuple):
    """How rows are written to stdout."""

    kind: str
    """What the rows are, in the plural: the name of the list in the JSON object."""
    json: bool
    style: TerminalStyle

    @classmethod
    def of_stdout(cls, kind: str, *, json: bool) -> Self:
        """For stdout as it is now: call this before stdout is reserved for data."""
        from eosfw.cli.output.console import TerminalStyle

        return cls(kind, json, TerminalStyle.of_stdout())

    def table(self, rows: Rows) -> str:
        """A line per row under a heading, or one JSON object."""
        return self._written(rows, _table)

    def paragraphs(self, rows: Rows) -> str:
        """A line per fact, a blank line between rows, or one JSON object."""
        return self._written(rows, _paragraphs)

    def _written(self, rows: Rows, drawn: Callable[[Rows], Table]) -> str:
        if self.json:
            return json.dumps({self.kind: rows})
        from eosfw.cli.output.console import draw

        return draw([drawn(rows)], self.style)


def _table(rows: Rows) -> Table:
    from eosfw.cli.output.console import table

    headings = [_words(name).upper() for name in rows[0]]
    return table(headings, [[_brief(value) for value in row.values()] for row in rows])


def _paragraphs(rows: Rows) -> Table:
    from rich.table import Table
    from rich.text import Text

    facts = Table.grid(padding=(0, 2, 0, 0))
    facts.add_column(no_wrap=True)
    facts.add_column(overflow="fold")
    for number, row in enumerate(rows):
        if number:
            facts.add_row()
        for name, value in row.items():
            facts.add_row(_words(name), Text(_text(value)))
    return facts


def _words(name: str) -> str:
    return name.replace("_", " ")


def _brief(value: Any) -> str:
    if isinstance(value, list) and len(value) > _FEW:
        return f"{_text(value[:_FEW])}, ... ({len(value):,} in all)"
    return _text(value)


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_text, value)) or _NONE
    if isinstance(value, dict):
        first, *rest = value.items()
        more = ", ".join(f"{_words(name)} {_text(each)}" for name, each in rest)
        return f"{first[1]} ({more})" if more else str(first[1])
    return _NONE if value is None else str(value)
