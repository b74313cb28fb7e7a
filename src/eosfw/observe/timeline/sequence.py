"""A sequence of events as a picture: a lane for each who acts, one event below the other."""

from __future__ import annotations

import textwrap
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from html import escape
from typing import Final

from eosfw.observe.event_aggregation import Outcome
from eosfw.observe.timeline import palette
from eosfw.observe.timeline.drawing import FONTS, box, text
from eosfw.observe.timeline.layout import EDGE

_TIMES: Final = 76
"""Pixels for the numbers and times at the left."""
_LANE: Final = 262
_BOX: Final = _LANE - 26
_CHARACTERS: Final = 36
"""How many characters of 11 pixels fit into a box."""
_LINE: Final = 15
_PADDING: Final = 8
_GAP: Final = 18
_TITLE_CHARACTER: Final = 8.0
_TURNS: Final = 4
"""Dashed lines between two lanes turn at so many places, so that few of them cover each other."""
_STYLE: Final = f"""
text {{ font-family: {FONTS}; fill: {palette.INK}; }}
.title {{ font-size: 16px; font-weight: 600; }}
.lane, .event {{ font-size: 12px; font-weight: 600; }}
.fact, .legend {{ font-size: 11px; }}
.time, .legend {{ font-size: 11px; fill: {palette.MUTED}; }}
"""


class Phase(Enum):
    """What an event says about a call."""

    BEGUN = "begun"
    DONE = "done, or seen"
    REFUSED = "did not happen"
    UNKNOWN = "nobody knows"


_COLOURS: Final = {
    Phase.BEGUN: palette.GENERATION,
    Phase.DONE: palette.OUTCOME[Outcome.COMMITTED],
    Phase.REFUSED: palette.OUTCOME[Outcome.FENCED],
    Phase.UNKNOWN: palette.OUTCOME[Outcome.OPEN],
}


@dataclass(frozen=True, slots=True)
class SequenceEvent:
    """One event of a picture."""

    number: int
    seconds: float
    lane: str
    """Who acts."""
    what: str
    phase: Phase
    facts: tuple[str, ...] = ()
    """What is known of it, a line each; longer ones are broken."""
    call: Hashable = None
    """Joins the beginning of a call with its end."""
    values: frozenset[str] = frozenset()
    """Joins events about one value."""


@dataclass(frozen=True, slots=True)
class _Placed:
    """An event with its place."""

    event: SequenceEvent
    lines: tuple[str, ...]
    x: float
    y: float
    height: float

    @property
    def middle(self) -> float:
        return self.y + self.height / 2


def sequence_svg(title: str, events: Sequence[SequenceEvent]) -> str:
    """The text of an SVG file without references; as wide as its lanes, as high as its events."""
    lanes = list(dict.fromkeys(event.lane for event in events))
    width = max(520, 2 * EDGE + _TIMES + len(lanes) * _LANE)
    heading = textwrap.wrap(title, int((width - 2 * EDGE) / _TITLE_CHARACTER)) or [""]
    names = {lane: textwrap.wrap(lane, _CHARACTERS - 4) or [""] for lane in lanes}
    legend_y = 36 + 21 * len(heading)
    lanes_y = legend_y + 34
    first = lanes_y + _LINE * max(map(len, names.values()), default=0) + 10
    placed = list(_placed(events, lanes, first))
    bottom = max((one.y + one.height for one in placed), default=first)
    height = bottom + 24
    size = f'width="{width:g}" height="{height:g}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" {size} role="img">',
            f"<title>{escape(title)}</title>",
            f"<style>{_STYLE}</style>",
            f'<rect width="{width:g}" height="{height:g}" fill="#ffffff"/>',
            *(text(EDGE, 36 + 21 * number, line, "title") for number, line in enumerate(heading)),
            *_legend(events, legend_y),
            *_lanes(names, lanes_y, bottom + 10),
            *_joins(placed),
            *(line for one in placed for line in _drawn(one)),
            "</svg>\n",
        ]
    )


def _placed(events: Sequence[SequenceEvent], lanes: Sequence[str], y: float) -> Iterator[_Placed]:
    for event in events:
        lines = tuple(line for fact in event.facts for line in textwrap.wrap(fact, _CHARACTERS))
        height = _LINE * (1 + len(lines)) + 2 * _PADDING - 3
        yield _Placed(event, lines, _x(lanes.index(event.lane)), y, height)
        y += height + _GAP


def _x(lane: int) -> float:
    return EDGE + _TIMES + lane * _LANE


def _legend(events: Sequence[SequenceEvent], y: float) -> Iterator[str]:
    x = float(EDGE)
    for phase in Phase:
        if any(event.phase is phase for event in events):
            yield box(x, y - 9, 4, 11, _COLOURS[phase])
            yield text(x + 10, y, phase.value, "legend")
            x += 10 + len(phase.value) * 5.6 + 20
    if len({value for event in events for value in event.values}) < sum(len(event.values) for event in events):
        yield text(x, y, "dashed: the same record", "legend")


def _lanes(names: dict[str, list[str]], y: float, bottom: float) -> Iterator[str]:
    for number, lines in enumerate(names.values()):
        x = _x(number)
        yield box(x - 8, y - 16, _BOX + 16, bottom - y + 16, palette.STRIPE, radius=4)
        yield from (text(x, y + _LINE * at, line, "lane") for at, line in enumerate(lines))


def _joins(placed: Sequence[_Placed]) -> Iterator[str]:
    """Under the boxes: a bar from the beginning of a call to its end, dashes from the first event about a record."""
    begun: dict[tuple[str, Hashable], _Placed] = {}
    first: dict[str, _Placed] = {}
    drawn = 0
    for one in placed:
        if one.event.call is not None:
            call = one.event.lane, one.event.call
            if (before := begun.pop(call, None)) is not None and one.event.phase is not Phase.BEGUN:
                yield box(one.x + 12, before.y + before.height, 6, one.y - before.y - before.height, palette.START)
            elif one.event.phase is Phase.BEGUN:
                begun[call] = one
        for before in {id(first[value]): first[value] for value in one.event.values if value in first}.values():
            if before.event.lane != one.event.lane:
                yield _dashes(before, one, turn=5 + 5 * (drawn % _TURNS))
                drawn += 1
        for value in one.event.values:
            first.setdefault(value, one)


def _dashes(before: _Placed, after: _Placed, turn: int) -> str:
    to_right = after.x > before.x
    begin = before.x + (_BOX if to_right else 0)
    end = after.x + (0 if to_right else _BOX)
    at = end - turn if to_right else end + turn
    path = f"M{begin:.1f} {before.middle:.1f}H{at:.1f}V{after.middle:.1f}H{end:.1f}"
    return f'<path d="{path}" fill="none" stroke="{palette.MUTED}" stroke-dasharray="4 3"/>'


def _drawn(one: _Placed) -> Iterator[str]:
    event, colour = one.event, _COLOURS[one.event.phase]
    yield text(EDGE, one.y + 19, f"no. {event.number:,}", "time")
    yield text(EDGE, one.y + 19 + _LINE, f"{event.seconds:.3f} s", "time")
    outline = f' stroke="{palette.START}"'
    yield box(one.x, one.y, _BOX, one.height, "#ffffff", radius=3, extra=outline)
    yield box(one.x, one.y, 4, one.height, colour)
    yield text(one.x + 14, one.y + _PADDING + 11, event.what, "event")
    for number, line in enumerate(one.lines, 1):
        yield text(one.x + 14, one.y + _PADDING + 11 + _LINE * number, line, "fact")
