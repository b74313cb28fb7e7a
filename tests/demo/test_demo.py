"""The demo ends with proof, the contrast run with duplicates; neither leaves anything behind. With Spark: `.ci/run`."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path
from urllib.request import urlopen

import pytest

from .command import FLIGHTS, Demo, assert_nothing_is_left


def test_every_flight_is_committed_once_although_a_zombie_wakes(demo: Demo, tmp_path: Path) -> None:
    """All records and transactions that tasks committed are counted; a zombie counts once it saw its fencing error."""
    ended = demo("--no-spark", "--json")

    assert ended.code == 0, ended.stderr
    summary = ended.summary
    assert (summary["records"], summary["duplicates"], summary["missing"]) == (FLIGHTS, 0, 0)
    assert summary["zombies_fenced"] >= 1  # a slow machine may leave another task behind
    assert (summary["rows_out"], summary["aggregation_equal"]) == (35, True)
    assert summary["zombie"]["open_records"] > 0
    assert "fenced" in summary["zombie"]["error"]
    assert summary["zombie"]["transactional_id"] == "eosfw-demo-flights-1"
    assert summary["transactions"] >= FLIGHTS / 2000
    assert ET.parse(tmp_path / "out" / "timeline.svg").getroot().tag.endswith("svg")
    assert_nothing_is_left(ended)


@pytest.mark.ci
def test_without_exactly_once_the_same_zombie_leaves_duplicates(demo: Demo, tmp_path: Path) -> None:
    ended = demo("--no-spark", "--json", "--without-exactly-once")

    assert ended.code == 1, ended.stderr
    summary = ended.summary
    assert summary["duplicates"] > 0
    assert (summary["missing"], summary["zombies_fenced"], summary["passed"]) == (0, 0, False)
    assert summary["examples"]
    assert (tmp_path / "out" / "timeline-without-exactly-once.svg").exists()
    assert_nothing_is_left(ended)


@pytest.mark.ci
def test_a_second_run_replaces_the_first_ones_output_and_reports_for_people(demo: Demo, tmp_path: Path) -> None:
    demo("--no-spark", "--json")

    again = demo("--no-spark")

    assert again.code == 0, again.stderr
    for expected in ("PASSED", "336,776 flights", "frozen", "fenced", "duplicates", "timeline.svg", "next:"):
        assert expected in again.stdout
    acts = [line.split(" s  ", 1) for line in again.stdout.splitlines() if " s  " in line]
    times = {what.split()[0]: float(at) for at, what in acts if what.startswith(("generation 1", "the leader fences"))}
    # Less what two rounded times may be off.
    assert times["the"] - times["generation"] > 0.98, (
        "the fencing is printed when it happens: after the graceful timeout"
    )
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["flights-by-carrier.csv", "timeline.svg"]
    assert_nothing_is_left(again)


@pytest.mark.ci
def test_the_fenced_zombie_stays_in_the_browser_until_ctrl_c(demo: Demo) -> None:
    """The report comes first, and Ctrl-C changes neither it nor the exit code."""
    seen: list[str] = []

    def look(said: str) -> None:
        with urlopen(said.split()[-3] + "/timeline", timeout=60) as page:
            seen.append(page.read().decode())

    ended = demo("--no-spark", "--json", "--console", interrupted_at="until Ctrl-C", before=look)

    assert ended.code == 0, ended.stderr
    assert ended.summary["passed"]
    assert "task 1, generation 0 on" in seen[0]
    assert "generation 1 on" in seen[0]
    assert_nothing_is_left(ended)


@pytest.mark.spark
def test_without_java_the_demo_offers_to_go_without_spark(demo: Demo) -> None:
    ended = demo("--json", PATH="/nonexistent", JAVA_HOME="/nonexistent")

    assert ended.code == 3
    assert "Java" in ended.stderr
    assert "eosfw demo --no-spark" in ended.stderr
    assert not ended.stdout
