"""A timeline shows what all workers did of late, and who shut whom out (UIC-10)."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from eosfw.ids import ConnectorTaskId
from eosfw.observe import StepEvent, TaskStep
from eosfw.protocols import RestResponse
from eosfw_console.fencings import fencings_of
from eosfw_console.pages.page import PageRequest
from eosfw_console.pages.timeline import MOST_CONNECTORS, timeline_page, timeline_picture
from eosfw_console.recent_steps import MOST_SENT, RecentSteps, steps_of
from eosfw_console.throughput import Throughput
from eosfw_console.worker_client import WorkerClient

NOW = 1_000_000.0


def step(kind: TaskStep, wall: float, generation: int = 0, connector: str = "c", **detail: object) -> StepEvent:
    """A step of task 0; the monotonic clock of its worker shows something else than the wall does."""
    return StepEvent(
        kind,
        at=wall % 1_000,
        wall=wall,
        connector=connector,
        task=ConnectorTaskId(connector, 0),
        generation=generation,
        transactional_id=f"g-{connector}-0",
        detail=detail,
    )


def lines(*events: StepEvent, since: float = 0.0) -> str:
    steps = RecentSteps()
    for event in events:
        steps.observe(event)
    return steps.lines(since)


def merged(**by_worker: list[StepEvent]):
    return steps_of((worker, lines(*events)) for worker, events in by_worker.items())


def asked(workers: dict[str, str], **query: str) -> PageRequest:
    """A request to a group whose workers give these lines; one without lines does not answer."""

    def rest(_: str, target: str, *__: Any, worker: str | None = None, **___: Any) -> RestResponse:
        if worker is None:
            shown = [{"worker": name, "url": f"http://{name}"} for name in workers]
            return RestResponse(200, json.dumps({"workers": shown}).encode())
        assert float(parse_qs(urlsplit(target).query)["since"][0]) < NOW
        text = workers[urlsplit(worker).netloc]
        return RestResponse(200 if text else 503, text.encode())

    return PageRequest(WorkerClient(rest, {}), Throughput(lambda: NOW), lambda: NOW, query=query)


ZOMBIE = [
    step(TaskStep.INIT_PRODUCER, NOW - 100, 0),
    step(TaskStep.BEGIN, NOW - 90, 0),
    step(TaskStep.SEND, NOW - 89, 0, records=5),
    step(TaskStep.FENCED, NOW - 10, 0, error="a newer producer replaced this one"),
]


def test_a_zombie_is_shown_with_the_generation_that_replaced_it():
    (fencing,) = fencings_of(merged(w1=ZOMBIE, w2=[step(TaskStep.INIT_PRODUCER, NOW - 50, 1)]))

    assert (fencing.at, fencing.connector) == (NOW - 10, "c")
    assert fencing.who == "task 0, generation 0 on w1"
    assert fencing.cause == "generation 1 on w2 replaced it"
    assert fencing.error == "a newer producer replaced this one"


def test_a_zombie_of_a_moved_task_is_shown_with_the_worker_that_took_it():
    (fencing,) = fencings_of(merged(w1=ZOMBIE, w2=[step(TaskStep.INIT_PRODUCER, NOW - 50, 0)]))

    assert fencing.cause == "generation 0 on w2 replaced it"


def test_a_round_of_the_leader_is_a_cause_and_a_fencing_of_its_own():
    round_ = StepEvent(TaskStep.FENCE_ZOMBIES, 0.0, NOW - 60, "c", detail={"ids": ["g-c-0", "g-c-1"]})

    zombie, rounds = fencings_of(merged(w1=ZOMBIE, w3=[round_]))

    assert zombie.cause == "the leader w3 shut it out for a new generation"
    assert (rounds.who, rounds.cause) == (
        "producers of 2 transactional ids",
        "the leader w3 shut them out before a new generation starts",
    )


def test_a_foreign_holder_of_the_id_is_suspected_only_when_nobody_else_is_left():
    (fencing,) = fencings_of(merged(w1=ZOMBIE, w2=[step(TaskStep.INIT_PRODUCER, NOW - 50, 1, "other")]))

    assert fencing.cause == "no task of this group replaced it: somebody else uses its transactional id"


def test_the_picture_has_the_tasks_of_all_workers_that_answer():
    done = [step(TaskStep.BEGIN, NOW - 50, 1), step(TaskStep.COMMITTED, NOW - 49, 1, records=5)]
    request = asked({"w1": lines(*ZOMBIE), "w2": lines(*done), "frozen": ""})

    picture = timeline_picture(request)

    assert "generation 0" in picture
    assert "generation 1" in picture
    assert "1 zombie fenced" in picture
    assert [one.cause for one in timeline_page(request).values["fencings"]] == [
        "no task of this group replaced it: somebody else uses its transactional id"
    ]


def test_a_zombie_and_its_successor_have_lanes_of_their_own():
    """Also where the task moved within its generation: else one bar would span both."""
    done = [step(TaskStep.BEGIN, NOW - 50, 0), step(TaskStep.COMMITTED, NOW - 49, 0, records=5)]
    picture = timeline_picture(asked({"w1": lines(*ZOMBIE), "w2": lines(*done)}))

    assert "c on w1 · generation 0" in picture
    assert "c on w2 · generation 0" in picture


def test_of_many_connectors_those_with_trouble_are_drawn():
    busy = [step(TaskStep.COMMITTED, NOW - 20 + n / 10, connector=f"c{n:03}", records=1) for n in range(100)]
    failed = [step(TaskStep.FAILED, NOW - 200, connector="poor", error="x")]

    values = timeline_page(asked({"w1": lines(*busy, *failed)})).values

    assert len(values["shown"]) == MOST_CONNECTORS
    assert values["shown"][-1] == "poor"
    assert len(values["names"]) == 101


@pytest.mark.parametrize(("query", "shown"), [("1", []), ("5", ["c"]), ("60", ["c"]), ("7", ["c"]), ("x", ["c"])])
def test_a_window_has_one_of_the_known_lengths(query, shown):
    request = asked({"w1": lines(step(TaskStep.COMMITTED, NOW - 200, records=1))}, minutes=query)

    assert timeline_page(request).values["shown"] == shown


def test_transactions_drive_no_fencing_out():
    text = lines(ZOMBIE[-1], *(step(TaskStep.SEND, NOW - 5, records=1) for _ in range(30_000)), since=NOW - 20)

    assert text.count("\n") == MOST_SENT - 1
    kept = RecentSteps()
    for event in [ZOMBIE[-1], *(step(TaskStep.SEND, NOW - 5, records=1) for _ in range(30_000))]:
        kept.observe(event)
    assert '"fenced"' in kept.lines(0.0), "also in an answer that leaves steps out"


def test_lines_of_another_version_are_left_out():
    assert steps_of([("w1", 'nonsense\n{"step": "new-in-2.0"}\n' + lines(ZOMBIE[0]))])[0].worker == "w1"


def test_a_worker_gives_its_steps_and_draws_them(browser):
    assert browser.get("/ui/steps?since=0").status == 200
    assert browser.get("/ui/steps?since=soon").status == 400
    picture = browser.get("/ui/timeline.svg")

    assert picture.headers["content-type"] == "image/svg+xml"
    assert "script-src" not in picture.headers["content-security-policy"]
    assert "default-src 'none'" in picture.headers["content-security-policy"]
    assert "Timeline" in browser.get("/ui/timeline").text
