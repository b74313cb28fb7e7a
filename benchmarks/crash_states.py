"""Let the machine go down in every moment of runs with `--flush=fsync`; count what is lost or blocked afterwards.

Each run has several producers (with and without KIP-890's epochs), commits, aborts, group offsets, topics that come and
go, segments that roll. Everything that is done to the data directory is recorded. The machine goes down before each
recorded step; of what no wait for the disk has confirmed by then, all, nothing, or any part is kept, in any order,
writes also torn. A broker starts on each such state and is held against what clients had been told; in half of the
states the clients live on and end what they had begun. With `--again` the machine goes down once more while that broker
starts, or soon after. With `--bug` the order in which transactions are completed is
that of before, to see what is found. Prints one JSON object.
"""

from __future__ import annotations

import argparse
import logging
import sys
import tempfile
from collections import Counter
from pathlib import Path
from random import Random

from benchmark import run_main, scaled, show

from eosfw_memory.server.broker import broker as broker_module
from eosfw_memory.server.broker.transaction_completion import StepwiseCompletion
from eosfw_memory.storage.files.group_fsync import Completable

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from tests.broker.storage.crash_check import Verdicts, lived  # noqa: E402


def as_before() -> None:
    """Write markers and that all is complete in one step; leave open what no coordinator knows."""

    def complete_step(self: StepwiseCompletion, ready: Completable) -> bool:
        self._step(ready, lambda: self._broker.coordinator.markers.write_markers(ready.decided))
        self._step(ready, lambda: self._broker.coordinator.markers.log_completed(self._broker.now_ms()))
        return not self._broker.coordinator.markers.is_empty

    StepwiseCompletion.complete_step = complete_step  # type: ignore[method-assign]
    broker_module.end_unknown = lambda broker: None  # noqa: ARG005


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--states", type=int, default=scaled(10_000), help="at least so many")
    parser.add_argument("--subsets", type=int, default=scaled(5), help="sets of kept steps at random, per moment")
    parser.add_argument("--seed", type=int, default=1, help="of the first run")
    parser.add_argument("--again", action="store_true", help="twice: the second time amid the start after the first")
    parser.add_argument("--bug", action="store_true", help="with the order of before")
    arguments = parser.parse_args()
    logging.disable(logging.WARNING)
    if arguments.bug:
        as_before()
    found, seed, steps = Verdicts(), arguments.seed, 0
    while found.states < arguments.states:
        with tempfile.TemporaryDirectory() as folder:
            run = lived(Path(folder) / "data", seed)
            if arguments.again:
                found.again(run, Random(seed), every=40, subsets=1)
            else:
                found.explore(run, Random(seed), arguments.subsets)
            steps += len(run.recorder.steps)
            run.end()
        seed += 1
        print(f"{found.states} states, {len(found.bad_states)} bad", file=sys.stderr)
    kinds = Counter(_kind(each) for each in found.bad)
    show(
        {
            "runs": seed - arguments.seed,
            "steps": steps,
            "moments": found.cuts,
            "states": found.states,
            "states_with_loss": len({each.partition(": ")[0] for each in found.lost}),
            "states_blocked": len({each.partition(": ")[0] for each in found.blocked}),
            "kinds": dict(kinds.most_common(10)),
        }
    )
    return 1 if found.bad else 0


def _kind(text: str) -> str:
    return "".join("N" if each.isdigit() else each for each in text.partition(": ")[2])[:160]


if __name__ == "__main__":
    run_main(main)
