"""Tables and styled text for stdout, drawn by rich: to a terminal's width, or in one line each where there is none.

Importing rich takes longer than all of `eosfw --help`: import this module inside the function that prints.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from io import StringIO
from typing import NamedTuple, Self

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

_UNLIMITED = 1 << 20
"""Columns of a stdout that is no terminal: nothing is wrapped, so that each line can be searched and cut."""


class TerminalStyle(NamedTuple):
    """How text is drawn: in how many columns (None: as many as it needs), in colours or not."""

    width: int | None = None
    colours: bool = False

    @classmethod
    def of_stdout(cls) -> Self:
        """The style for stdout as it is now: call this before stdout is reserved for data."""
        if not sys.stdout.isatty():
            return cls()
        console = Console(file=sys.stdout)  # knows COLUMNS, NO_COLOR and TERM=dumb
        return cls(console.width, colours=console.color_system is not None and not console.no_color)


def draw(renderables: Iterable[RenderableType], style: TerminalStyle) -> str:
    """Text with the renderables below each other, without spaces at the ends of lines."""
    console = Console(
        file=StringIO(),
        width=style.width or _UNLIMITED,
        force_terminal=style.colours,
        color_system="standard" if style.colours else None,
        highlight=False,
    )
    with console.capture() as drawn:
        for each in renderables:
            # rich joins printed texts and drops their no_wrap, so it is passed on here.
            unwrapped = isinstance(each, Text) and bool(each.no_wrap)
            console.print(each, soft_wrap=unwrapped)
    return "\n".join(line.rstrip() for line in drawn.get().splitlines())


def plain_text(text: str, style: str = "") -> Text:
    """Text that rich takes as it is, whatever brackets it holds."""
    return Text(text, style)


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    """A table without lines, two spaces between its columns; cells that are too wide for a terminal are wrapped."""
    drawn = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for heading in headings:
        drawn.add_column(heading, overflow="fold")
    for row in rows:
        drawn.add_row(*map(plain_text, row))
    return drawn
