"""Measure a zombie test that is judged in Spark, in a session that is warm.

The tests are an author's own, run by pytest; what counts is the whole of one: its cluster, its run, its zombie, the
DataFrame, the verdict. The first ones, which start Spark and warm its JVM up, are left out.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections import Counter
from contextlib import redirect_stdout
from pathlib import Path

import pytest
from benchmark import ContenderError, run_main, scaled, show

GOAL = 3.0
WARM_UP = scaled(3)
ROOT = Path(__file__).parents[1]
TESTS = """\
import pytest
from tests.pytest_eos.counter import CounterConnector

@pytest.mark.parametrize("turn", range({turns}))
@pytest.mark.eos_zombie(at="{step}")
def test_a_connector_with_a_zombie_writes_each_count_once(eos, eos_spark, turn):
    counts = eos.run(CounterConnector, {{"streams": 3, "tasks.max": 3}}, until=1_000)
    eos.assert_exactly_once(counts.dataframe(eos_spark), expected=counts.source_records())
"""


class Stopwatch:
    """Adds up what pytest reports of each test: set-up, call, teardown."""

    def __init__(self) -> None:
        self.taken: Counter[str] = Counter()
        self.failed = False

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.taken[report.nodeid] += report.duration
        self.failed = self.failed or report.failed


def measure(turns: int, step: str) -> list[float]:
    """Seconds of each warm test."""
    watch = Stopwatch()
    with tempfile.TemporaryDirectory(prefix="eos-benchmark-") as folder:
        file, settings = Path(folder) / "test_zombie.py", Path(folder) / "pytest.ini"
        settings.write_text("[pytest]\n", encoding="utf-8")
        file.write_text(TESTS.format(turns=turns + WARM_UP, step=step), encoding="utf-8")
        quiet = ["-q", "-p", "no:cacheprovider", "--import-mode=importlib"]
        sys.path.insert(0, str(ROOT))
        with redirect_stdout(sys.stderr):
            status = pytest.main([*quiet, "-c", str(settings), str(file)], plugins=[watch])
    if status or watch.failed:
        raise ContenderError(f"the tests did not pass: pytest ended with {status!r}")
    return list(watch.taken.values())[WARM_UP:]


def main() -> None:
    """Print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=scaled(9))
    parser.add_argument("--step", default="commit")
    given = parser.parse_args()
    taken = measure(given.turns, given.step)
    found = {"turns": len(taken), "median_s": statistics.median(taken), "best_s": min(taken), "worst_s": max(taken)}
    show({**{name: round(value, 2) for name, value in found.items()}, "goal_s": GOAL})


if __name__ == "__main__":
    run_main(main)
