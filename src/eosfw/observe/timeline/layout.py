"""The layout of the timeline picture, in pixels; pure functions."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from statistics import median

from eosfw.observe.event_aggregation import (
    COMMITTER,
    EventAggregation,
    Lane,
    LaneHistory,
    Outcome,
    Transaction,
    lane_of,
)
from eosfw.observe.gates import Freeze
from eosfw.observe.timeline.annotations import CHARACTER, Rule, Wait, leader_steps, place_labels, rules, waits
from eosfw.state.steps import StepEvent, TaskStep

EDGE = 24
"""Where names begin, left of the plot."""
RIGHT_MARGIN = 28
HEADER = 92
"""Title, numbers, legend."""
LABEL_LEVEL = 16
GROUP_HEIGHT = 26
ROW_HEIGHT = 21
ZOMBIE_HEIGHT = 42
"""A zombie's lane has a second line for its story."""
BAR_HEIGHT = 13
AXIS_HEIGHT = 46
NARROW = 3.5
"""If the median bar of a lane is thinner than this, bars that touch are merged."""
HAIR = 2.0
"""The least width of a bar that is drawn; thinner bars are merged with neighbours that they would touch."""


def duration_label(seconds: float) -> str:
    """A duration, in milliseconds below one second."""
    return f"{seconds:.1f} s" if seconds >= 1 else f"{1000 * seconds:.0f} ms"


@dataclass(frozen=True, slots=True)
class Scale:
    """The scale from seconds to pixels."""

    start: float
    seconds: float
    left: float
    width: float

    def x(self, at: float) -> float:
        """The pixel of a moment, within the plot."""
        share = (at - self.start) / self.seconds
        return self.left + self.width * min(1.0, max(0.0, share))


@dataclass(frozen=True, slots=True)
class Bar:
    """One transaction, or several (`count`) that are too thin to be drawn apart."""

    x: float
    width: float
    outcome: Outcome
    count: int
    records: int
    begin: float
    end: float
    number: int | None

    @property
    def right(self) -> float:
        """The right edge."""
        return self.x + self.width


@dataclass(frozen=True, slots=True)
class Span:
    """A span of a lane."""

    x: float
    width: float
    begin: float
    end: float


@dataclass(frozen=True, slots=True)
class Zombie:
    """When a zombie was frozen, woken and fenced, with the pixels."""

    frozen: Span
    step: str
    records: int
    batch: int | None
    """The micro-batch it stood still in, if it is a process of a query."""
    end: str
    """How it stopped standing still."""
    fate: str
    """What became of it, if it was not fenced."""
    fenced_x: float | None
    fenced_at: float | None
    error: str


@dataclass(frozen=True, slots=True)
class Row:
    """One task of one generation."""

    lane: Lane
    y: float
    height: float
    starts: Sequence[Span]
    bars: Sequence[Bar]
    zombie: Zombie | None
    failures: Sequence[tuple[float, StepEvent]]
    of_query: bool
    """Whether its bars are micro-batches."""

    @property
    def name(self) -> str:
        """What is left of the lane."""
        return lane_name(self.lane, of_query=self.of_query)


@dataclass(frozen=True, slots=True)
class Group:
    """One generation of one connector, or one driver of one query."""

    name: str
    y: float
    rows: Sequence[Row]


@dataclass(frozen=True, slots=True)
class Tick:
    """A labelled moment on the time axis."""

    x: float
    label: str


@dataclass(frozen=True, slots=True)
class Picture:
    """The whole timeline."""

    width: float
    height: float
    scale: Scale
    leader_y: float
    leader: Sequence[tuple[float, StepEvent]]
    groups: Sequence[Group]
    rules: Sequence[Rule]
    waits: Sequence[tuple[Span, Wait]]
    """How long the leader waited for tasks of replaced generations."""
    ticks: Sequence[Tick]
    axis_y: float
    records: int
    transactions: int
    zombies: int
    transactional: bool


def layout(aggregation: EventAggregation, freezes: Sequence[Freeze] = (), width: float = 1200) -> Picture:
    """Place the lanes, bars and lines of a history."""
    start = aggregation.first or 0.0
    left = gutter(aggregation.lanes.values())
    scale = Scale(start, max(aggregation.last - start, 1e-3), left, width - left - RIGHT_MARGIN)
    placed = place_labels(rules(aggregation, scale.x), right=width - RIGHT_MARGIN)
    levels = 1 + max((rule.level for rule in placed), default=-1)
    leader_y = HEADER + levels * LABEL_LEVEL + 6
    groups, bottom = _groups(aggregation, freezes, scale, leader_y + 4 + (ROW_HEIGHT if aggregation.leader else 0))
    return Picture(
        width=width,
        height=bottom + AXIS_HEIGHT,
        scale=scale,
        leader_y=leader_y,
        leader=leader_steps(aggregation.leader, scale.x),
        groups=groups,
        rules=placed,
        waits=[(_span(one.begin, one.end, scale), one) for one in waits(aggregation)],
        ticks=ticks(scale),
        axis_y=bottom + 8,
        records=aggregation.records,
        transactions=aggregation.transactions,
        zombies=len(aggregation.zombies),
        transactional=aggregation.transactional,
    )


def gutter(lanes: Iterable[LaneHistory]) -> float:
    """The width for the longest name, within bounds."""
    longest = max((len(group_name(each)) for each in lanes), default=0)
    return EDGE + min(300.0, max(110.0, longest * (CHARACTER + 1) + 16))


def group_name(history: LaneHistory) -> str:
    """The name of a lane's group."""
    connector, generation = history.lane[:2]
    return f"{connector} · driver {generation + 1}" if history.of_query else f"{connector} · generation {generation}"


def lane_name(lane: Lane, *, of_query: bool) -> str:
    """The name of a lane within its group; of a Spark task, the attempt if it is not the first."""
    if lane.task == COMMITTER:
        return "committer"
    if not of_query:
        return f"task {lane.task}"
    return f"partition {lane.task}" + (f", attempt {lane.attempt + 1}" if lane.attempt else "")


def _groups(
    aggregation: EventAggregation, freezes: Sequence[Freeze], scale: Scale, y: float
) -> tuple[list[Group], float]:
    groups = []
    frozen = {lane_of(freeze.event): freeze for freeze in freezes}
    for _, lanes in groupby(sorted(aggregation.lanes), key=lambda lane: lane[:2]):
        top, rows = y, []
        y += GROUP_HEIGHT
        within = list(lanes)
        for lane in within:
            zombie = _zombie(aggregation.lanes[lane], aggregation.zombies.get(lane), frozen.get(lane), scale)
            if zombie is not None and any(each[:3] == lane[:3] and each > lane for each in within):
                zombie = replace(zombie, fate="lost: its task ran again")
            row = _row(aggregation.lanes[lane], zombie, scale, aggregation.last, y)
            rows.append(row)
            y += row.height
        groups.append(Group(group_name(aggregation.lanes[within[0]]), top, rows))
    return groups, y


def _row(history: LaneHistory, zombie: Zombie | None, scale: Scale, now: float, y: float) -> Row:
    failures = [(scale.x(mark.at), mark) for mark in history.marks if mark.step is TaskStep.FAILED]
    starts = [_span(begin, end, scale) for begin, end in history.starts]
    height = ZOMBIE_HEIGHT if zombie else ROW_HEIGHT
    return Row(
        lane=history.lane,
        y=y,
        height=height,
        starts=starts,
        bars=merge(_transactions(history, now), scale),
        zombie=zombie,
        failures=failures,
        of_query=history.of_query,
    )


def _transactions(history: LaneHistory, now: float) -> Iterable[Transaction]:
    yield from history.transactions
    if history.opened is not None:
        begun = history.opened
        yield Transaction(
            lane=history.lane,
            number=begun.transaction,
            begin=begun.at,
            end=now,
            records=history.records,
            outcome=Outcome.OPEN,
        )


def merge(transactions: Iterable[Transaction], scale: Scale) -> list[Bar]:
    """Bars in order of outcome; neighbours of one outcome that are too thin to be drawn apart are merged.

    What is thin is decided once per outcome, so that a gap between bars means the same all along a lane.
    """
    bars: list[Bar] = []
    for outcome, found in groupby(sorted(transactions, key=_by_outcome), key=lambda done: done.outcome):
        singles = [_bar(done, outcome, scale) for done in found]
        merges_below = math.inf if median(bar.width for bar in singles) < NARROW else HAIR
        bars += _melted(singles, merges_below)
    return bars


def _melted(singles: Iterable[Bar], below: float) -> list[Bar]:
    bars: list[Bar] = []
    for bar in singles:
        thin = bars and bar.width < below and (bars[-1].count > 1 or bars[-1].width < below)
        if thin and bar.x - bars[-1].right < HAIR:
            bars[-1] = _join(bars[-1], bar)
        else:
            bars.append(bar)
    return bars


def _by_outcome(done: Transaction) -> tuple[int, float]:
    return list(Outcome).index(done.outcome), done.begin


def _bar(done: Transaction, outcome: Outcome, scale: Scale) -> Bar:
    x = scale.x(done.begin)
    return Bar(
        x=x,
        width=scale.x(done.end) - x,
        outcome=outcome,
        count=1,
        records=done.records,
        begin=done.begin,
        end=done.end,
        number=done.number,
    )


def _join(left: Bar, right: Bar) -> Bar:
    return replace(
        left,
        width=max(left.right, right.right) - left.x,
        count=left.count + right.count,
        records=left.records + right.records,
        end=right.end,
    )


def _zombie(history: LaneHistory, fenced: StepEvent | None, freeze: Freeze | None, scale: Scale) -> Zombie | None:
    if fenced is None and freeze is None:
        return None
    if freeze is not None:
        until = freeze.until if freeze.until is not None else scale.start + scale.seconds
        span, step = _span(freeze.since, until, scale), freeze.event.step.value
        records = _held(history, freeze.since)
    else:
        # Without a freeze: from the begin of the zombie's last transaction to its fencing error.
        last = next((done for done in reversed(history.transactions) if done.outcome is Outcome.FENCED), None)
        begun = history.last.at if last is None else last.begin
        span, step = _span(begun, fenced.at if fenced else begun, scale), "its transaction"
        records = history.records if last is None else last.records
    return Zombie(
        frozen=span,
        step=step,
        records=records,
        batch=freeze.event.transaction if freeze is not None and history.of_query else None,
        end="killed" if freeze is not None and freeze.event.detail.get("killed") else "woken",
        fate=_fate(history, span.end),
        fenced_x=scale.x(fenced.at) if fenced else None,
        fenced_at=fenced.at if fenced else None,
        error=str(fenced.detail.get("error", "")) if fenced else "",
    )


def _fate(history: LaneHistory, woken: float) -> str:
    """What became of a zombie that no error fenced."""
    if any(mark.step is TaskStep.FAILED and mark.at >= woken for mark in history.marks):
        return "then failed"
    if any(done.outcome is Outcome.SKIPPED and done.end >= woken for done in history.transactions):
        return "then skipped its batch"
    return "never fenced"


def _held(history: LaneHistory, at: float) -> int:
    """Records of the transaction that was open at a moment."""
    within = (done.records for done in history.transactions if done.begin <= at <= done.end)
    return next(within, history.records)


def _span(begin: float, end: float, scale: Scale) -> Span:
    x = scale.x(begin)
    return Span(x, scale.x(end) - x, begin, end)


def ticks(scale: Scale, at_most: int = 12) -> list[Tick]:
    """Ticks at a distance of 1, 2 or 5 times a power of ten."""
    steps = (base * 10.0**power for power in range(-3, 7) for base in (1, 2, 5))
    step = next((step for step in steps if scale.seconds / step <= at_most), scale.seconds)
    decimals = 0 if step >= 1 else len(f"{step:.3f}".rstrip("0").split(".")[1])
    count = int(scale.seconds / step + 1e-9)
    return [Tick(scale.x(scale.start + n * step), f"{n * step:.{decimals}f} s") for n in range(count + 1)]
