"""Measure the simulation of connectors: seeds a second, events of one, and which part of the program takes the time.

Each seed draws one to three workers, their interleaving and their faults; a connector of three tasks counts to 16 in
three streams, then everything quiesces and is judged. Times are CPU seconds of this process, which has one thread.

    python benchmarks/simulation.py [--seeds 200]
"""

from __future__ import annotations

import argparse
import cProfile
import logging
import pstats
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from benchmark import run_main, scaled, show

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.simulation.connectors import played

from pytest_eos.simulation.fault_plan import draw_plan

PARTS = {
    "the broker": "/eosfw_memory/server/",
    "its log": "/eosfw_memory/storage/",
    "its faults": "/eosfw_memory/faults/",
    "its client": "/eosfw_memory/client/",
    "the framework": "/eosfw/",
    "the virtual clock": "/pytest_eos/virtual/",
    "the rest of pytest-eos": "/pytest_eos/",
}
"""Parts of the program by a part of the path of their modules; the first that fits counts."""


def play(seeds: range) -> tuple[int, int]:
    """The events of all seeds, and how many of them failed."""
    with tempfile.TemporaryDirectory() as folder:
        found = [played(draw_plan(seed), Path(folder)) for seed in seeds]
    return sum(one.trace.events for one in found), sum(one.failure is not None for one in found)


def shares(profile: cProfile.Profile) -> dict[str, float]:
    """The share of each part of the program in the time, in percent."""
    own = Counter[str]()
    for (path, _, _), (_, _, seconds, _, _) in pstats.Stats(profile).stats.items():  # type: ignore[attr-defined]
        part = next((name for name, within in PARTS.items() if within in path), "Python and its library")
        own[part] += seconds
    return {name: round(100 * seconds / own.total(), 1) for name, seconds in own.most_common()}


def main() -> None:
    """Play seeds, then some of them again under the profiler."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=scaled(200, least=2))
    seeds = parser.parse_args().seeds
    logging.disable(logging.CRITICAL)
    play(range(1))
    began = time.process_time()
    events, failed = play(range(1, seeds + 1))
    seconds = time.process_time() - began
    with cProfile.Profile() as profile:
        play(range(1, min(seeds, 40) + 1))
    show(
        {
            "seeds": seeds,
            "failed": failed,
            "events of a seed": round(events / seeds),
            "cpu ms of a seed": round(1000 * seconds / seeds, 1),
            "seeds a second": round(seeds / seconds, 1),
            "events a second": round(events / seconds),
            "percent of the time": shares(profile),
        }
    )


if __name__ == "__main__":
    run_main(main)
