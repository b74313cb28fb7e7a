"""Write the timeline as a few lines of characters, for terminals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from eosfw.observe.folding import Fold, LaneStory, Outcome
from eosfw.observe.gates import Freeze
from eosfw.observe.timeline.layout import Scale, lane_of, lasting
from eosfw.state.steps import StepEvent, TaskStep


@dataclass(frozen=True, slots=True)
class Alphabet:
    """A character for all that a cell can show."""

    starting: str
    committed: str
    aborted: str
    fenced: str
    open: str
    frozen: str
    generation: str
    fencing: str
    idle: str


UNICODE: Final = Alphabet("╌", "█", "▚", "✗", "▁", "▒", "│", "┆", " ")
ASCII: Final = Alphabet("-", "#", "a", "X", "_", "~", "|", ":", " ")


def strip(fold: Fold, freezes: Sequence[Freeze], columns: int, alphabet: Alphabet) -> str:
    """A line per lane under one for the leader, the time axis, what the characters mean."""
    names = [_name(story) for _, story in sorted(fold.lanes.items())]
    gutter = max(map(len, ["leader", *names])) + 2
    cells = max(20, columns - gutter - 1)
    start = fold.first or 0.0
    scale = Scale(start, max(fold.last - start, 1e-3), 0, cells - 1)
    lines = ["leader".ljust(gutter) + _leader(fold.leader, scale, cells, alphabet)]
    for name, (lane, story) in zip(names, sorted(fold.lanes.items()), strict=True):
        frozen = [freeze for freeze in freezes if lane_of(freeze.event) == lane]
        lines.append(name.ljust(gutter) + _lane(story, frozen, scale, cells, alphabet))
    legend = _legend("".join(line[gutter:] for line in lines), alphabet)
    lines.append(" " * gutter + f"{'0 s':<{cells - 8}}{lasting(scale.seconds):>8}")
    return "\n".join([*(line.rstrip() for line in lines), legend])


def _name(story: LaneStory) -> str:
    return f"{story.lane.connector} g{story.lane.generation} t{story.lane.task}"


def _leader(events: Iterable[StepEvent], scale: Scale, cells: int, alphabet: Alphabet) -> str:
    line = [alphabet.idle] * cells
    shown = {TaskStep.WRITE_TASK_CONFIGS: alphabet.generation, TaskStep.FENCE_ZOMBIES: alphabet.fencing}
    for event in events:
        if event.step in shown:
            line[round(scale.x(event.at))] = shown[event.step]
    return "".join(line)


def _lane(story: LaneStory, frozen: Sequence[Freeze], scale: Scale, cells: int, alphabet: Alphabet) -> str:
    line = [alphabet.idle] * cells
    for begin, end, character in _strokes(story, frozen, scale.start + scale.seconds, alphabet):
        for cell in range(round(scale.x(begin)), round(scale.x(end)) + 1):
            line[cell] = character
    return "".join(line)


def _strokes(
    story: LaneStory, frozen: Sequence[Freeze], now: float, alphabet: Alphabet
) -> Iterator[tuple[float, float, str]]:
    """What to write over what: later strokes win, for what is rare must not vanish behind what is common."""
    yield from ((begin, end, alphabet.starting) for begin, end in story.starts)
    for outcome in (Outcome.COMMITTED, Outcome.OPEN, Outcome.FENCED, Outcome.ABORTED):
        # a fenced transaction was open all the time; its end alone is marked
        character = alphabet.open if outcome is Outcome.FENCED else getattr(alphabet, outcome.value)
        yield from ((done.begin, done.end, character) for done in story.transactions if done.outcome is outcome)
    if story.opened is not None:
        yield story.opened.at, now, alphabet.open
    yield from ((held.since, now if held.until is None else held.until, alphabet.frozen) for held in frozen)
    yield from ((mark.at, mark.at, alphabet.fenced) for mark in story.marks if mark.step is TaskStep.FENCED)


def _legend(drawn: str, alphabet: Alphabet) -> str:
    words = ("committed", "aborted", "frozen", "fenced", "open", "starting", "generation", "fencing")
    shown = [f"{getattr(alphabet, word)} {word}" for word in words if getattr(alphabet, word) in drawn]
    return "  ".join(shown)
