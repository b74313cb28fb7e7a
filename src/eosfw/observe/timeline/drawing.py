"""The timeline picture as an SVG file without references."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from eosfw.observe.event_aggregation import Outcome
from eosfw.observe.timeline import palette
from eosfw.observe.timeline.annotations import CHARACTER, Moment, Rule
from eosfw.observe.timeline.layout import (
    BAR_HEIGHT,
    EDGE,
    HAIR,
    LABEL_LEVEL,
    ROW_HEIGHT,
    Bar,
    Group,
    Picture,
    Row,
    Zombie,
    duration_label,
)
from eosfw.text import quantity

FONTS = 'Inter, "Segoe UI", "Helvetica Neue", Helvetica, Arial, "DejaVu Sans", sans-serif'
STYLE = f"""
text {{ font-family: {FONTS}; fill: {palette.INK}; }}
.title {{ font-size: 20px; font-weight: 600; }}
.numbers {{ font-size: 13px; fill: {palette.MUTED}; }}
.legend, .tick {{ font-size: 11px; fill: {palette.MUTED}; }}
.group {{ font-size: 12px; font-weight: 600; }}
.lane, .rule, .story {{ font-size: 11px; }}
.rule, .story, .group {{ paint-order: stroke; stroke: #ffffff; stroke-width: 3px; stroke-linejoin: round; }}
.lane {{ fill: {palette.MUTED}; }}
.undead {{ fill: {palette.ZOMBIE}; font-weight: 600; }}
.story {{ fill: {palette.ZOMBIE}; }}
"""


def draw(picture: Picture, title: str) -> str:
    """The picture as the text of an SVG file."""
    width, height = picture.width, picture.height
    size = f'width="{width:g}" height="{height:g}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" {size} role="img">',
            f"<title>{escape(title)}</title>",
            f"<style>{STYLE}</style>",
            _pattern(),
            f'<rect width="{width:g}" height="{height:g}" fill="#ffffff"/>',
            *_header(picture, title),
            *_stripes(picture),
            *_axis(picture),
            *_rule_lines(picture),
            *_leader(picture),
            *(line for group in picture.groups for line in _group(group, picture)),
            *(line for rule in picture.rules for line in _rule_label(rule, picture)),
            "</svg>\n",
        ]
    )


def _pattern() -> str:
    return (
        '<defs><pattern id="frozen" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
        f'<rect width="6" height="6" fill="{palette.ZOMBIE_WASH}"/>'
        f'<rect width="2.4" height="6" fill="{palette.OUTCOME[Outcome.FENCED]}"/></pattern></defs>'
    )


# --- above the lanes


def _header(picture: Picture, title: str) -> Iterator[str]:
    yield text(EDGE, 36, title, "title")
    commits = quantity(picture.transactions, "committed transaction" if picture.transactional else "commit")
    numbers = (
        f"{quantity(picture.records, 'record')} in {commits}{'' if picture.transactional else ' of offsets'}"
        f"  ·  {quantity(picture.zombies, 'zombie')} fenced  ·  {duration_label(picture.scale.seconds)}"
    )
    yield text(EDGE, 58, numbers, "numbers")
    x = float(EDGE)
    for colour, name in _legend(picture):
        crossed = colour in (palette.ZOMBIE, palette.INK)
        yield cross(x + 7, 75, 4, colour, name) if crossed else box(x, 70, 14, 10, colour)
        yield text(x + 19, 79, name, "legend")
        x += 19 + len(name) * 5.6 + 18


def _legend(picture: Picture) -> Iterator[tuple[str, str]]:
    """The colour and name of everything that occurs in the lanes."""
    rows = [row for group in picture.groups for row in group.rows]
    # The span in which a zombie was frozen covers its transaction; only the cross at the end is visible.
    hidden = {(id(row), Outcome.FENCED) for row in rows if row.zombie is not None}
    outcomes = {bar.outcome for row in rows for bar in row.bars if (id(row), bar.outcome) not in hidden}
    if any(row.starts for row in rows):
        yield palette.START, "starting"
    yield from ((palette.OUTCOME[each], each.value) for each in Outcome if each in outcomes)
    zombies = [row.zombie for row in rows if row.zombie is not None]
    if zombies:
        yield "url(#frozen)", "frozen"
    if any(zombie.fenced_x is not None for zombie in zombies):
        yield palette.ZOMBIE, "fenced"
    if any(row.failures for row in rows):
        yield palette.INK, "failed"


def _rule_lines(picture: Picture) -> Iterator[str]:
    for rule in picture.rules:
        top = picture.leader_y - 6 - rule.level * LABEL_LEVEL
        colour, dash = _look(rule)
        if rule.end_x > rule.x + 1:
            wide, tall = rule.end_x - rule.x, picture.axis_y - picture.leader_y
            yield box(rule.x, picture.leader_y, wide, tall, colour, extra=' fill-opacity="0.10"')
        yield (
            f'<line x1="{rule.x:.1f}" y1="{top:.1f}" x2="{rule.x:.1f}" y2="{picture.axis_y:.1f}" stroke="{colour}" '
            f'stroke-width="1"{dash}/>'
        )


def _rule_label(rule: Rule, picture: Picture) -> Iterator[str]:
    colour, _ = _look(rule)
    y = picture.leader_y - 8 - rule.level * LABEL_LEVEL
    x, anchor = (rule.x - 5, "end") if rule.leftwards else (rule.x + 5, "start")
    yield text(x, y, rule.label, "rule", anchor=anchor, title=rule.title, fill=colour)


def _look(rule: Rule) -> tuple[str, str]:
    if rule.moment is Moment.FENCING:
        return palette.FENCING, ' stroke-dasharray="4 3"'
    return palette.GENERATION, ""


# --- the lanes


def _stripes(picture: Picture) -> Iterator[str]:
    for group in picture.groups:
        for row in group.rows[::2]:
            yield box(EDGE - 8, row.y, picture.width - 2 * EDGE + 16, row.height, palette.STRIPE, radius=2)


def _leader(picture: Picture) -> Iterator[str]:
    middle = picture.leader_y + ROW_HEIGHT / 2
    if picture.leader:
        yield text(EDGE, middle + 4, "leader", "group")
    for x, event in picture.leader:
        title = escape(f"{event.step.value} of {event.connector} at {seconds(event.at, picture)}")
        dot = f'<circle cx="{x:.1f}" cy="{middle:.1f}" r="3.2" fill="{palette.FENCING}">'
        yield f"{dot}<title>{title}</title></circle>"
    for span, wait in picture.waits:
        words = f"waiting for generation {wait.generation} to stop"
        what = f"{words}: {duration_label(wait.end - wait.begin)}"
        yield box(span.x, middle - 2, max(HAIR, span.width), 4, palette.START, title=what)
        if span.width > (len(words) + 2) * CHARACTER:
            yield text(span.x + span.width / 2, middle + 4, words, "rule", anchor="middle")


def _group(group: Group, picture: Picture) -> Iterator[str]:
    yield text(EDGE, group.y + 19, group.name, "group")
    for row in group.rows:
        yield from _row(row, picture)


def _row(row: Row, picture: Picture) -> Iterator[str]:
    middle = row.y + ROW_HEIGHT / 2
    top = middle - BAR_HEIGHT / 2
    yield text(EDGE + 12, middle + 4, row.name, "lane")
    for start in row.starts:
        title = f"startup protocol, {start.end - start.begin:.3f} s"
        yield box(start.x, middle - 2, max(HAIR, start.width), 4, palette.START, title=title)
    for bar in sorted(row.bars, key=lambda each: -each.width):  # wide bars first, so that they do not cover thin ones
        yield _bar(bar, top, "batch" if row.of_query else "transaction")
        if row.of_query and bar.count == 1 and bar.width > 8 + CHARACTER * len(str(bar.number)):
            yield text(bar.x + bar.width / 2, middle + 4, str(bar.number), "lane", anchor="middle", fill="#ffffff")
    for x, event in row.failures:
        yield cross(x, middle, 4, palette.INK, f"failed: {event.detail.get('error', '')}")
    if row.zombie is not None:
        yield from _zombie(row, row.zombie, picture)


def _bar(bar: Bar, top: float, kind: str) -> str:
    # A white line separates wide bars; thin bars need all of their pixels.
    width = bar.width - 0.8 if bar.width > 4 and bar.count == 1 else max(bar.width, HAIR)
    number = f" {bar.number}" if bar.number is not None and bar.count == 1 else ""
    what = f"{kind}{number}" if bar.count == 1 else quantity(bar.count, kind)
    title = f"{what} {bar.outcome.value}: {quantity(bar.records, 'record')}, {bar.end - bar.begin:.3f} s"
    return box(bar.x, top, width, BAR_HEIGHT, palette.OUTCOME[bar.outcome], title=title, radius=1.5 if width > 6 else 0)


def _zombie(row: Row, zombie: Zombie, picture: Picture) -> Iterator[str]:
    top = row.y + (ROW_HEIGHT - BAR_HEIGHT) / 2
    frozen = zombie.frozen
    yield text(EDGE + 12, row.y + ROW_HEIGHT / 2 + 20, "zombie", "lane undead")
    title = f"frozen for {frozen.end - frozen.begin:.3f} s before {zombie.step}, {_records(zombie)} open"
    yield box(
        frozen.x,
        top,
        max(2.0, frozen.width),
        BAR_HEIGHT,
        "url(#frozen)",
        title=title,
        radius=1.5,
        extra=f' stroke="{palette.OUTCOME[Outcome.FENCED]}" stroke-width="1"',
    )
    if zombie.fenced_x is not None:
        yield cross(zombie.fenced_x, top + BAR_HEIGHT / 2, 6, palette.ZOMBIE, f"fenced: {zombie.error}")
    yield from _history_of(zombie, row.y + ROW_HEIGHT / 2 + 20, picture)


def _history_of(zombie: Zombie, y: float, picture: Picture) -> Iterator[str]:
    """What happened to the zombie, under its bar: at both ends if that fits, else in one piece."""
    frozen = zombie.frozen
    begin = f"frozen at {seconds(frozen.begin, picture)} before {zombie.step}, {_records(zombie)} open"
    end = f"{zombie.end} at {seconds(frozen.end, picture)}"
    if zombie.fenced_at is not None:
        end += f", fenced at {seconds(zombie.fenced_at, picture)}"
    elif frozen.end < picture.scale.start + picture.scale.seconds:
        end += f", {zombie.fate}" if zombie.end == "woken" else ""
    left, right = frozen.x, frozen.x + frozen.width
    if (len(begin) + len(end) + 4) * CHARACTER < frozen.width:
        yield text(left, y, begin, "story")
        yield text(right, y, end, "story", anchor="end")
    elif left + (len(begin) + len(end) + 2) * CHARACTER < picture.width - EDGE:
        yield text(left, y, f"{begin}; {end}", "story")
    else:
        yield text(right, y, f"{begin}; {end}", "story", anchor="end")


# --- below the lanes


def _axis(picture: Picture) -> Iterator[str]:
    left, right, y = picture.scale.left, picture.scale.left + picture.scale.width, picture.axis_y
    for tick in picture.ticks:
        yield (
            f'<line x1="{tick.x:.1f}" y1="{picture.leader_y:.1f}" x2="{tick.x:.1f}" y2="{y + 4:.1f}" '
            f'stroke="{palette.FAINT}"/>'
        )
        yield text(tick.x, y + 18, tick.label, "tick", anchor="middle")
    yield f'<line x1="{left:.1f}" y1="{y:.1f}" x2="{right:.1f}" y2="{y:.1f}" stroke="{palette.MUTED}"/>'


# --- pieces


def _records(zombie: Zombie) -> str:
    if zombie.batch is not None:
        return f"batch {zombie.batch}"
    return f"{zombie.records:,} record{'s' * (zombie.records != 1)}"


def seconds(at: float, picture: Picture) -> str:
    """The label of a moment on the axis."""
    passed = at - picture.scale.start
    return f"{passed:.2f} s" if picture.scale.seconds >= 1 else duration_label(passed)


def box(
    x: float, y: float, width: float, height: float, fill: str, *, title: str = "", radius: float = 0, extra: str = ""
) -> str:
    """A rectangle, with a tooltip if it has a title."""
    rounded = f' rx="{radius:g}"' if radius else ""
    head = f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:g}" fill="{fill}"{rounded}{extra}'
    return f"{head}><title>{escape(title)}</title></rect>" if title else head + "/>"


def text(x: float, y: float, words: str, style: str, anchor: str = "start", title: str = "", fill: str = "") -> str:
    """A line of text."""
    placed = "" if anchor == "start" else f' text-anchor="{anchor}"'
    coloured = f' style="fill:{fill}"' if fill else ""
    tip = f"<title>{escape(title)}</title>" if title else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{style}"{placed}{coloured}>{tip}{escape(words)}</text>'


def cross(x: float, y: float, arm: float, colour: str, title: str) -> str:
    """An x on a white ground, with a tooltip."""
    path = f"M{x - arm:.1f} {y - arm:.1f}l{2 * arm} {2 * arm}M{x + arm:.1f} {y - arm:.1f}l{-2 * arm} {2 * arm}"
    return (
        f'<g fill="none" stroke-linecap="round"><title>{escape(title)}</title>'
        f'<path d="{path}" stroke="#ffffff" stroke-width="6"/>'
        f'<path d="{path}" stroke="{colour}" stroke-width="2.6"/></g>'
    )
