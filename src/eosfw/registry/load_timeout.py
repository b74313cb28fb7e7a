"""Bound how long a plugin may take to answer.

An import cannot be called off, and on the main thread it could not even be left alone: the command would hang with it.
So each call into a plugin runs on a thread beside, which is left behind when it does not come back; such threads never
keep the process alive. The price is that a plugin is not imported on the main thread: one that sets signal handlers
when it is imported fails, and is told so. Whoever loads plugins while it is being imported itself keeps plugins that
need it waiting until they count as broken: load them later.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from eosfw.concurrency import Runtime
from eosfw.errors import PluginError

LOAD_TIMEOUT = 30.0
"""Seconds: far beyond a cold import from a slow disk."""


def call_with_timeout(timeout: float, call: Callable[[], Any], runtime: Runtime) -> Any:
    """What the call returns or raises; PluginError if it does neither in time."""
    outcome: list[tuple[Any, BaseException | None]] = []

    def run() -> None:
        try:
            outcome.append((call(), None))
        except BaseException as error:  # noqa: BLE001 - raised again below, on the caller's thread
            outcome.append((None, error))

    runtime.spawn("eosfw-plugin", run).join(timeout)
    if not outcome:
        raise PluginError(f"it did not answer within {timeout:g} s; what hangs there is left alone")
    found, error = outcome[0]
    if error is not None:
        raise error
    return found
