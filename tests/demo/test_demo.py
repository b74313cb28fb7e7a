"""The demo ends with proof, the contrast run with duplicates; neither leaves anything behind."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import uuid
import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import pytest

MARK = "EOSFW_DEMO_TEST"
FLIGHTS = 336_776
WITHIN = 300
MAIN = "from eosfw.cli import main; main()"


@dataclass(frozen=True, slots=True)
class Ended:
    """A completed run of the demo."""

    code: int
    stdout: str
    stderr: str
    mark: str
    scratch: Path

    @property
    def summary(self) -> dict[str, Any]:
        """The whole of stdout as one JSON object."""
        found: dict[str, Any] = json.loads(self.stdout)
        return found

    def survivors(self) -> list[str]:
        """Processes that still carry the run's mark in their environment."""
        mark = f"{MARK}={self.mark}".encode()
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                if mark in (process / "environ").read_bytes():
                    found.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode())
            except OSError:  # it ended, or is not ours to look at
                continue
        return found


Demo = Callable[..., Ended]


@pytest.fixture
def demo(tmp_path: Path) -> Demo:
    """Run `eosfw demo` in a process of its own, with a temporary folder of its own."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()

    def run(*arguments: str, **environment: str) -> Ended:
        mark = uuid.uuid4().hex
        surroundings = {**os.environ, MARK: mark, "TMPDIR": str(scratch), **environment}
        command = [sys.executable, "-c", MAIN, "demo", "--output", str(tmp_path / "out"), *arguments]
        done = subprocess.run(
            command, env=surroundings, cwd=tmp_path, capture_output=True, text=True, timeout=WITHIN, check=False
        )
        return Ended(done.returncode, done.stdout, done.stderr, mark, scratch)

    return run


def assert_nothing_is_left(ended: Ended) -> None:
    assert not ended.survivors()
    assert not list(ended.scratch.iterdir())
    address = re.search(r"embedded broker at (\S+):(\d+)", ended.stderr)
    assert address is not None
    with pytest.raises(OSError, match="refused"):
        socket.create_connection((address[1], int(address[2])), timeout=5).close()


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
    assert times["the"] >= times["generation"] + 1.0, "the fencing is told when it happens: after the graceful timeout"
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["flights-by-carrier.csv", "timeline.svg"]
    assert_nothing_is_left(again)


@pytest.mark.spark
def test_without_java_the_demo_offers_to_go_without_spark(demo: Demo) -> None:
    ended = demo("--json", PATH="/nonexistent", JAVA_HOME="/nonexistent")

    assert ended.code == 3
    assert "Java" in ended.stderr
    assert "eosfw demo --no-spark" in ended.stderr
    assert not ended.stdout


@pytest.mark.spark
@pytest.mark.ci
def test_spark_finds_every_flight_once_and_the_same_totals(
    demo: Demo, tmp_path: Path, unavailable: Callable[[str, str], NoReturn]
) -> None:
    try:
        subprocess.run(["java", "-version"], capture_output=True, check=True, timeout=30)
    except (OSError, subprocess.CalledProcessError) as why:
        unavailable("spark", f"no Java: {why}")

    ended = demo("--json")

    assert ended.code == 0, ended.stderr
    summary = ended.summary
    assert (summary["records"], summary["duplicates"], summary["missing"]) == (FLIGHTS, 0, 0)
    assert summary["zombies_fenced"] >= 1  # a slow machine may leave another task behind
    assert (summary["rows_out"], summary["aggregation_equal"]) == (35, True)
    assert list((tmp_path / "out" / "flights-by-carrier").glob("*.parquet"))
    assert_nothing_is_left(ended)
