"""The timeline of a group: what its tasks have done of late, on all workers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import islice
from typing import Final

from eosfw.concurrency import ThreadRuntime
from eosfw.observe import History, StepEvent, TaskStep, timeline
from eosfw.text import quantity
from eosfw_console.fencings import fencings_of
from eosfw_console.pages.page import Page, PageRequest
from eosfw_console.recent_steps import WorkerStep, steps_of

WINDOWS: Final = (1, 5, 15, 60)
"""Minutes that can be looked at."""
REFRESH: Final = 10
"""Seconds after which a page that somebody looks at draws anew."""
MOST_CONNECTORS: Final = 12
_TROUBLE: Final = frozenset({TaskStep.FENCED, TaskStep.FAILED, TaskStep.FENCE_ZOMBIES})


def timeline_page(request: PageRequest) -> Page:
    """`/ui/timeline`: the last `minutes` of one `connector`, or of those with trouble first."""
    minutes, connector = _minutes(request), request.query.get("connector", "")
    steps = recent_steps(request, request.now() - 3_600)
    shown = _shown(steps, request.now() - 60 * minutes, connector)
    return Page(
        "timeline.html",
        ("picture", "fencings"),
        {
            "minutes": minutes,
            "windows": WINDOWS,
            "connector": connector,
            "names": _connectors(steps),
            "shown": _connectors(shown),
            "version": int(request.now() // REFRESH),
            "fencings": list(islice((one for one in fencings_of(steps) if connector in ("", one.connector)), 50)),
        },
    )


def timeline_picture(request: PageRequest) -> str:
    """The picture as SVG."""
    minutes, connector = _minutes(request), request.query.get("connector", "")
    since = request.now() - 60 * minutes
    history = History(ThreadRuntime(), keep=None)
    for event in _events(_shown(recent_steps(request, since), since, connector)):
        history.observe(event)
    return timeline.svg(history, title=f"Transactions of the last {quantity(minutes, 'minute')}")


def recent_steps(request: PageRequest, since: float) -> Sequence[WorkerStep]:
    """The steps of all workers of the group that answer, from a time of the day on."""
    workers = {one["url"]: one["worker"] for one in request.client.get("/group")["workers"] if one["url"]}
    answers = request.workers.ask(request.client, list(workers), f"/ui/steps?since={since:.3f}")
    return steps_of((workers[url], text) for url, text in answers.texts.items())


def _events(steps: Sequence[WorkerStep]) -> Iterable[StepEvent]:
    """The steps, those of a task that ran on several workers apart: a zombie and its successor are no one lane."""
    workers: dict[tuple[object, object], set[str]] = {}
    for one in steps:
        workers.setdefault((one.event.task, one.event.generation), set()).add(one.worker)
    for one in steps:
        apart = one.event.task is not None and len(workers[one.event.task, one.event.generation]) > 1
        yield replace(one.event, connector=f"{one.event.connector} on {one.worker}") if apart else one.event


def _connectors(steps: Sequence[WorkerStep]) -> Sequence[str]:
    """Of whom steps are; those of the group as a whole have no connector."""
    return sorted({one.event.connector for one in steps if one.event.connector})


def _shown(steps: Sequence[WorkerStep], since: float, connector: str) -> list[WorkerStep]:
    """The steps of a window; of many connectors those with trouble, and those that did something last."""
    within = [one for one in steps if one.event.at >= since and connector in ("", one.event.connector)]
    ranks: dict[str, tuple[bool, float]] = {}
    for one in within:
        trouble, _ = ranks.get(one.event.connector, (False, 0.0))
        ranks[one.event.connector] = (trouble or one.event.step in _TROUBLE, one.event.at)
    chosen = set(sorted(ranks, key=lambda name: ranks[name], reverse=True)[:MOST_CONNECTORS])
    return [one for one in within if one.event.connector in chosen]


def _minutes(request: PageRequest) -> int:
    return {str(one): one for one in WINDOWS}.get(request.query.get("minutes", ""), WINDOWS[1])
