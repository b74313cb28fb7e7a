"""The timeline shows every lane, every outcome, the zombie, at any length of history."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from itertools import pairwise

import pytest

from eosfw.concurrency import ThreadRuntime
from eosfw.observe import Freeze, History, Outcome
from eosfw.observe.timeline import svg, text
from eosfw.observe.timeline.layout import Picture, Scale, duration_label, layout, ticks
from eosfw.state.steps import TaskStep

from .event_histories import event, new_generation, startup, transaction

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def history() -> History:
    """Two generations; task 1 of the first is frozen from 1.2 s to 3 s, then fenced."""
    reported = [
        *new_generation(0.0, 0, 2, 0),
        *startup(0.2, task=0),
        *transaction(0.5, 0.9, number=1, task=0),
        *transaction(0.9, 1.0, number=2, task=0, outcome=TaskStep.ABORTED),
        *transaction(0.6, 3.1, number=1, records=2000, task=1, outcome=TaskStep.FENCED),
        *new_generation(1.5, 1, 1, 2),
        *transaction(1.9, 2.4, task=0, generation=1),
        event(TaskStep.BEGIN, 3.5, task=0, generation=1, transaction=2),
        event(TaskStep.POLL, 4.0, task=0, generation=1),
    ]
    made = History(ThreadRuntime())
    for each in sorted(reported, key=lambda one: one.at):
        made.observe(each)
    return made


def freeze() -> Freeze:
    return Freeze(event(TaskStep.COMMIT, 1.2, task=1), 1.2, 3.0)


def bars(picture: Picture) -> dict[tuple[int, int], list[Outcome]]:
    return {
        (row.lane.generation, row.lane.task): [bar.outcome for bar in row.bars]
        for group in picture.groups
        for row in group.rows
    }


def test_each_task_of_each_generation_has_a_lane_with_its_transactions(history: History) -> None:
    picture = layout(history.aggregation(), [freeze()])

    assert bars(picture) == {
        (0, 0): [Outcome.COMMITTED, Outcome.ABORTED],
        (0, 1): [Outcome.FENCED],
        (1, 0): [Outcome.COMMITTED, Outcome.OPEN],
    }
    tops = [row.y for group in picture.groups for row in group.rows]
    assert tops == sorted(tops)


def test_the_zombie_is_marked_from_frozen_to_fenced(history: History) -> None:
    picture = layout(history.aggregation(), [freeze()])

    zombies = [row.zombie for group in picture.groups for row in group.rows if row.zombie]

    assert len(zombies) == 1
    zombie = zombies[0]
    assert (zombie.frozen.begin, zombie.frozen.end, zombie.fenced_at, zombie.records) == (1.2, 3.0, 3.1, 2000)
    assert zombie.frozen.x == picture.scale.x(1.2)


def test_without_a_gate_the_zombie_is_found_in_the_events(history: History) -> None:
    zombie = layout(history.aggregation()).groups[0].rows[1].zombie

    assert zombie is not None
    assert (zombie.frozen.begin, zombie.frozen.end) == (0.6, 3.1)


def test_labels_of_fencing_rounds_and_generations_do_not_overlap(history: History) -> None:
    rules = layout(history.aggregation()).rules

    assert [rule.label for rule in rules] == ["flights: generation 0", "flights: generation 1", "fencing round: 2 ids"]
    assert rules[1].level != rules[2].level


def test_thousands_of_transactions_stay_few_bars_and_lose_no_record() -> None:
    history = History(ThreadRuntime())
    for n in range(5000):
        outcome = TaskStep.ABORTED if n % 50 == 0 else TaskStep.COMMITTED
        for each in transaction(n * 0.002, n * 0.002 + 0.0019, number=n, records=3, outcome=outcome):
            history.observe(each)

    picture = layout(history.aggregation())

    row = picture.groups[0].rows[0]
    assert len(row.bars) < picture.width
    assert sum(bar.count for bar in row.bars) == 5000
    assert sum(bar.records for bar in row.bars) == 15_000
    assert len(svg(history)) < 100_000
    assert all(left.right <= right.x + 1e-6 for left, right in pairwise(row.bars) if left.outcome is right.outcome)


def test_the_svg_is_well_formed_and_self_contained(history: History) -> None:
    drawn = svg(history, [freeze()], title="a <title> & more")

    root = ET.fromstring(drawn)

    assert root.tag == f"{SVG}svg"
    assert root.findtext(f"{SVG}title") == "a <title> & more"
    assert not root.findall(f".//{SVG}script")
    assert "href" not in drawn
    words = " ".join("".join(found.itertext()) for found in root.iter(f"{SVG}text"))
    for expected in (
        "zombie",
        "fenced at 3.10 s",
        "2,000 records open",
        "generation 1",
        "fencing round",
        "1,000 records in 2 committed transactions",
    ):
        assert expected in words
    tooltips = [found.text for found in root.iter(f"{SVG}title")]
    assert "transaction 1 committed: 500 records, 0.400 s" in tooltips


def test_nothing_is_drawn_outside_the_picture(history: History) -> None:
    root = ET.fromstring(svg(history, [freeze()]))
    width, height = float(root.attrib["width"]), float(root.attrib["height"])

    boxes = [found.attrib for found in root.findall(f"{SVG}rect")]

    assert all(0 <= float(box.get("x", 0)) <= width and 0 <= float(box.get("y", 0)) <= height for box in boxes)


def test_an_empty_history_is_drawn_too() -> None:
    history = History(ThreadRuntime())

    assert ET.fromstring(svg(history)).tag == f"{SVG}svg"
    assert "leader" in text(history)


def test_a_gate_still_closed_is_drawn_to_the_end() -> None:
    history = History(ThreadRuntime())
    for each in (event(TaskStep.BEGIN, 0.0, transaction=1), event(TaskStep.POLL, 2.0, task=1)):
        history.observe(each)

    picture = layout(history.aggregation(), [Freeze(event(TaskStep.BEGIN, 0.0), 0.0, None)])

    zombie = picture.groups[0].rows[0].zombie
    assert zombie is not None
    assert (zombie.frozen.end, zombie.fenced_at) == (2.0, None)


@pytest.mark.parametrize(("encoding", "committed"), [("utf-8", "█"), ("ascii", "#"), ("latin-1", "#")])
def test_the_text_fits_the_terminal_and_its_encoding(history: History, encoding: str, committed: str) -> None:
    drawn = text(history, [freeze()], columns=80, encoding=encoding)

    assert drawn.encode(encoding)
    lines = drawn.splitlines()
    assert len(lines) == 6
    assert max(map(len, lines[:-1])) <= 80
    assert committed in lines[1]
    assert "g0 t1" in lines[2]


@pytest.mark.parametrize("seconds", [0.003, 0.9, 4.8, 61, 86_400])
def test_ticks_are_round_and_few(seconds: float) -> None:
    found = ticks(Scale(0.0, seconds, 0, 1000))

    assert 4 <= len(found) <= 13
    assert found[0].label.rstrip("0. s") == ""


def test_durations_below_a_second_are_shown_in_milliseconds():
    """A whole test takes milliseconds on a virtual clock."""
    assert duration_label(0.026) == "26 ms"
    assert duration_label(12.34) == "12.3 s"


def words(drawn: str) -> list[str]:
    return ["".join(found.itertext()) for found in ET.fromstring(drawn).iter(f"{SVG}text")]


def test_the_wait_between_configurations_and_the_next_generation_is_labelled(history: History) -> None:
    """The second in which an old generation may stop looks like a standstill otherwise."""
    history.observe(event(TaskStep.STOPPED, 20.0, generation=1))
    slow = History(ThreadRuntime())
    for each in [*transaction(0.0, 0.5), *new_generation(1.0, 1, 1, 1), *transaction(9.0, 9.5, generation=1)]:
        slow.observe(each)

    (span, wait) = layout(slow.aggregation()).waits[0]

    assert (wait.begin, wait.end, wait.generation) == (1.0, 9.0, 0)
    assert span.width > 0
    assert "waiting for generation 0 to stop" in words(svg(slow))
    leader = text(slow, columns=100).splitlines()
    assert leader[0].count("·") > 50
    assert "· waiting for tasks to stop" in leader[-1]


def test_the_first_generation_waits_for_no_other_member() -> None:
    history = History(ThreadRuntime())
    for each in [*new_generation(0.0, 0, 1, 0), *transaction(5.0, 6.0)]:
        history.observe(each)

    assert layout(history.aggregation()).waits == []
    assert "waiting" not in text(history)


def test_the_legend_explains_only_what_occurs(history: History) -> None:
    quiet = History(ThreadRuntime())
    for each in transaction(0.0, 1.0):
        quiet.observe(each)

    assert {"committed"} == {"starting", "committed", "aborted", "fenced", "open", "frozen"} & set(words(svg(quiet)))
    drawn = {"starting", "committed", "aborted", "fenced", "open", "frozen"} & set(words(svg(history, [freeze()])))
    assert drawn == {"starting", "committed", "aborted", "fenced", "open", "frozen"}


def test_a_transaction_of_a_millisecond_stays_visible_in_an_hour() -> None:
    history = History(ThreadRuntime())
    short = [*transaction(1800.0, 1800.001, number=2), *transaction(1800.001, 3600.0, number=3)]
    for each in [*transaction(0.0, 1800.0, outcome=TaskStep.FENCED), *short]:
        history.observe(each)

    boxes = [box for box in ET.fromstring(svg(history)).iter(f"{SVG}rect") if box.find(f"{SVG}title") is not None]

    assert {box.findtext(f"{SVG}title", "").split(":")[0] for box in boxes} >= {"transaction 2 committed"}
    (thin,) = [box for box in boxes if "transaction 2" in box.findtext(f"{SVG}title", "")]
    assert float(thin.attrib["width"]) >= 2
    assert boxes[-1] is thin, "drawn last, so that no neighbour covers it"


def test_a_short_commit_beside_a_long_open_transaction_stays_visible_in_text() -> None:
    history = History(ThreadRuntime())
    for each in [*transaction(0.0, 0.001), event(TaskStep.BEGIN, 0.001, transaction=2), event(TaskStep.POLL, 100.0)]:
        history.observe(each)

    assert "█" in text(history).splitlines()[1]
