"""Draw a history: tasks as lanes, transactions as bars, the zombie where it was frozen, woken, fenced."""

from __future__ import annotations

from collections.abc import Sequence

from eosfw.observe.gates import Freeze
from eosfw.observe.history import History
from eosfw.observe.timeline.annotations import fenced_ids
from eosfw.observe.timeline.drawing import draw
from eosfw.observe.timeline.layout import layout
from eosfw.observe.timeline.text_chart import ASCII, UNICODE, text_chart

__all__ = ["fenced_ids", "svg", "text"]


def svg(history: History, freezes: Sequence[Freeze] = (), *, title: str = "Transactions of a run") -> str:
    """The timeline as an SVG file's text, 1200 pixels wide; `freezes` are what gates held."""
    return draw(layout(history.aggregation(), freezes), title)


def text(history: History, freezes: Sequence[Freeze] = (), *, columns: int = 100, encoding: str = "utf-8") -> str:
    """The timeline in lines of characters; plain ASCII for an encoding that cannot carry blocks."""
    try:
        "█▚✗▁▒╌┆".encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return text_chart(history.aggregation(), freezes, columns, ASCII)
    return text_chart(history.aggregation(), freezes, columns, UNICODE)
