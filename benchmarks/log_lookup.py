"""Measure how the log's look-ups grow: the last stable offset, the aborted transactions of a fetch (goal 13).

A step of the stable offset ends one open transaction, begins another, then reads the offset, with 10 or 100,000 open;
either the oldest ends first or a random one. A look-up of aborted transactions has 100 hits among 100 or 1,000,000.
Prints one JSON object.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable

from benchmark import run_main, scaled, show

from eosfw_memory.storage.log.transaction_index import TransactionIndex
from eosfw_memory.storage.log.undecided_transactions import UndecidedTransactions

ROUNDS = scaled(7)
STEPS = scaled(20_000)
HITS = 100
FEW_OPEN, MANY_OPEN = 10, scaled(100_000, least=10)
FEW_ABORTED, MANY_ABORTED = HITS, scaled(1_000_000, least=10 * HITS)
OPEN_GOAL, ABORTED_GOAL = 4.0, 6.0


def stable_offset(count: int, picks: Callable[[int], int]) -> Callable[[], float]:
    """Give a measurement of one step in microseconds, with `count` transactions open."""
    transactions, live = UndecidedTransactions(), list(range(count))
    for offset in live:
        transactions.begin(offset % 1000, offset)
    state = {"next": count}

    def measure() -> float:
        chosen = [picks(count) for _ in range(STEPS)]
        offset = state["next"]
        began = time.process_time()
        for at in chosen:
            transactions.end(live[at])
            transactions.begin(7, offset)
            live[at] = offset
            offset += 1
            assert transactions.first_undecided is not None
        took = time.process_time() - began
        state["next"] = offset
        return took / STEPS * 1e6

    return measure


def oldest_first() -> Callable[[int], int]:
    """Go round in order, so that every transaction that ends is the oldest."""
    state = {"at": -1}

    def pick(count: int) -> int:
        state["at"] = (state["at"] + 1) % count
        return state["at"]

    return pick


def aborted(count: int, *, within_a_long_one: bool = False) -> Callable[[], float]:
    """Give a measurement of one look-up in microseconds, among `count` transactions."""
    index = TransactionIndex()
    for n in range(count):
        index.add(n % 1000, 10 * n, 10 * n + 9, 0 if within_a_long_one else 10 * n + 10)
    last = count - HITS
    looks = 500

    def measure() -> float:
        starts = [10 * random.randint(0, last) for _ in range(looks)]
        began = time.process_time()
        for start in starts:
            found = index.between(start, start + 10 * HITS)
        took = time.process_time() - began
        assert len(found) == HITS
        return took / looks * 1e6

    return measure


def compare(small: Callable[[], float], large: Callable[[], float], goal: float | None = None) -> dict[str, object]:
    """Let both take turns; give the medians with their ratio."""
    small(), large()
    rounds = [(small(), large()) for _ in range(ROUNDS)]
    few, many = (round(statistics.median(column), 3) for column in zip(*rounds, strict=True))
    ratio = round(statistics.median(b / a for a, b in rounds), 3)
    return {"small_us": few, "large_us": many, "ratio": ratio, "at_most": goal}


def main() -> None:
    random.seed(13)
    show(
        {
            "stable offset, 100,000 open / 10, the oldest ends": compare(
                stable_offset(FEW_OPEN, oldest_first()), stable_offset(MANY_OPEN, oldest_first()), OPEN_GOAL
            ),
            "stable offset, 100,000 open / 10, a random one ends": compare(
                stable_offset(FEW_OPEN, random.randrange), stable_offset(MANY_OPEN, random.randrange), OPEN_GOAL
            ),
            "aborted, 1,000,000 / 100": compare(aborted(FEW_ABORTED), aborted(MANY_ABORTED), ABORTED_GOAL),
            "aborted within a transaction that is still open, 100,000 / 100": compare(
                aborted(FEW_ABORTED), aborted(MANY_ABORTED // 10, within_a_long_one=True)
            ),
        }
    )


if __name__ == "__main__":
    run_main(main)
