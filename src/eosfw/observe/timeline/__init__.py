"""The timeline of a history: a lane for each task, a bar for each transaction, and where zombies were fenced."""

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
    """The timeline as the text of an SVG file, 1200 pixels wide; `freezes` come from gates."""
    return draw(layout(history.aggregation(), freezes), title)


def text(history: History, freezes: Sequence[Freeze] = (), *, columns: int = 100, encoding: str = "utf-8") -> str:
    """The timeline in lines of characters, which are ASCII if the encoding has no block characters."""
    try:
        "█▚✗▁▒╌┆▄◇".encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return text_chart(history.aggregation(), freezes, columns, ASCII)
    return text_chart(history.aggregation(), freezes, columns, UNICODE)
