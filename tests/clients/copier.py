"""Run a copier of records by consume-transform-produce until it is asked to end (SIGTERM)."""

from __future__ import annotations

import argparse
import signal
from collections.abc import Callable
from typing import Protocol


class Copier(Protocol):
    """One member of the group, with one transactional id."""

    def turn(self) -> None:
        """Copy what there is, if anything, in one transaction; whatever it raises ends the program."""

    def close(self) -> None:
        """Close the consumer and the producer."""


def run(make: Callable[[argparse.Namespace], Copier]) -> None:
    """Be the program: its arguments are the same whatever client it uses."""
    parser = argparse.ArgumentParser()
    for name in ("servers", "input", "output", "group", "transactional-id"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--size", type=int, required=True, help="records a transaction")
    parser.add_argument("--pause", type=float, default=0.0, help="seconds before each end of a transaction, twice")
    asked: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: asked.append(number))
    copier = make(parser.parse_args())
    while not asked:
        copier.turn()
    copier.close()
