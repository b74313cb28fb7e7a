"""Threads of a contract's test that call one part at the same time."""

from __future__ import annotations

import threading  # noqa: TID251 - parts are called by many threads
from collections.abc import Callable
from typing import Final

import pytest

from pytest_eos.environment.clusters.cluster import runtime

THREADS: Final = 4
PATIENCE = 30.0
"""Seconds after which a thread counts as blocked: what it does takes far less."""


def at_once(work: Callable[[int], object]) -> None:
    """Call with 0, 1, ... in threads of their own; fail the test with the first error, or for threads that block."""
    errors: list[BaseException] = []

    def called(number: int) -> None:
        try:
            work(number)
        except BaseException as error:  # noqa: BLE001 - raised by the test's own thread
            errors.append(error)

    # Daemons: one that blocks must not keep pytest from ending.
    threads = [threading.Thread(target=called, args=(number,), daemon=True) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    until = runtime().now() + PATIENCE
    for thread in threads:
        thread.join(max(0.0, until - runtime().now()))
    blocked = sum(thread.is_alive() for thread in threads)
    if blocked:
        what = "it must not let one wait for another"
        pytest.fail(f"{blocked} of {THREADS} threads have not come back within {PATIENCE:g} s: {what}", pytrace=False)
    if errors:
        raise errors[0]
