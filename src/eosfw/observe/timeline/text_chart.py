"""The timeline in lines of characters, for terminals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from eosfw.observe.event_aggregation import COMMITTER, EventAggregation, LaneHistory, Outcome, Transaction, lane_of
from eosfw.observe.gates import Freeze
from eosfw.observe.timeline.annotations import waits
from eosfw.observe.timeline.layout import Scale, duration_label
from eosfw.state.steps import TaskStep


@dataclass(frozen=True, slots=True)
class Alphabet:
    """The characters for everything that a cell can show."""

    starting: str
    committed: str
    aborted: str
    fenced: str
    open: str
    frozen: str
    generation: str
    fencing: str
    waiting: str
    idle: str
    staged: str
    skipped: str
    failed: str


# In the order of the fields.
UNICODE: Final = Alphabet(*"╌█▚✗▁▒│┆· ▄◇!")
ASCII: Final = Alphabet(*"-#aX_~|:. =o!")


def text_chart(aggregation: EventAggregation, freezes: Sequence[Freeze], columns: int, alphabet: Alphabet) -> str:
    """A line for the leader, a line for each lane, the time axis and a legend."""
    names = [_name(history) for _, history in sorted(aggregation.lanes.items())]
    gutter = max(map(len, ["leader", *names])) + 2
    cells = max(20, columns - gutter - 1)
    start = aggregation.first or 0.0
    scale = Scale(start, max(aggregation.last - start, 1e-3), 0, cells - 1)
    lines = ["leader".ljust(gutter) + _leader(aggregation, scale, cells, alphabet)]
    for name, (lane, history) in zip(names, sorted(aggregation.lanes.items()), strict=True):
        frozen = [freeze for freeze in freezes if lane_of(freeze.event) == lane]
        lines.append(name.ljust(gutter) + _lane(history, frozen, scale, cells, alphabet))
    legend = _legend("".join(line[gutter:] for line in lines), alphabet)
    lines.append(" " * gutter + f"{'0 s':<{cells - 8}}{duration_label(scale.seconds):>8}")
    return "\n".join([*(line.rstrip() for line in lines), legend])


def _name(history: LaneHistory) -> str:
    lane = history.lane
    if history.of_query:
        task = (
            "committer" if lane.task == COMMITTER else f"p{lane.task}" + (f" a{lane.attempt + 1}" * (lane.attempt > 0))
        )
        return f"{lane.connector} d{lane.generation + 1} {task}"
    return f"{history.lane.connector} g{history.lane.generation} t{history.lane.task}"


def _leader(aggregation: EventAggregation, scale: Scale, cells: int, alphabet: Alphabet) -> str:
    line = [alphabet.idle] * cells
    for wait in waits(aggregation):
        _fill(line, scale, wait.begin, wait.end, alphabet.waiting)
    shown = {TaskStep.WRITE_TASK_CONFIGS: alphabet.generation, TaskStep.FENCE_ZOMBIES: alphabet.fencing}
    for event in aggregation.leader:
        if event.step in shown:
            line[round(scale.x(event.at))] = shown[event.step]
    return "".join(line)


def _lane(history: LaneHistory, frozen: Sequence[Freeze], scale: Scale, cells: int, alphabet: Alphabet) -> str:
    line = [alphabet.idle] * cells
    for begin, end, character in _strokes(history, frozen, scale.start + scale.seconds, alphabet):
        _fill(line, scale, begin, end, character)
    return "".join(line)


def _fill(line: list[str], scale: Scale, begin: float, end: float, character: str) -> None:
    for cell in range(round(scale.x(begin)), round(scale.x(end)) + 1):
        line[cell] = character


def _strokes(
    history: LaneHistory, frozen: Sequence[Freeze], now: float, alphabet: Alphabet
) -> Iterator[tuple[float, float, str]]:
    """What to draw, in order: later strokes cover earlier ones, so what is rare or short comes last."""
    yield from ((begin, end, alphabet.starting) for begin, end in history.starts)
    if history.opened is not None:
        yield history.opened.at, now, alphabet.open
    for done in sorted(history.transactions, key=_rarity):
        # a fenced transaction is drawn as open; only its end is marked as fenced
        character = alphabet.open if done.outcome is Outcome.FENCED else getattr(alphabet, done.outcome.value)
        yield done.begin, done.end, character
    yield from ((held.since, now if held.until is None else held.until, alphabet.frozen) for held in frozen)
    shown = {TaskStep.FENCED: alphabet.fenced, TaskStep.FAILED: alphabet.failed}
    yield from ((mark.at, mark.at, shown[mark.step]) for mark in history.marks if mark.step in shown)


def _rarity(done: Transaction) -> tuple[bool, float]:
    return done.outcome is Outcome.ABORTED, done.begin - done.end


def _legend(drawn: str, alphabet: Alphabet) -> str:
    words = (
        "committed",
        "aborted",
        "staged",
        "skipped",
        "frozen",
        "fenced",
        "failed",
        "open",
        "starting",
        "generation",
        "fencing",
    )
    meanings = [*((getattr(alphabet, word), word) for word in words), (alphabet.waiting, "waiting for tasks to stop")]
    return "  ".join(f"{character} {meaning}" for character, meaning in meanings if character in drawn)
