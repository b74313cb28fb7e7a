"""The timeout for calls into plugins.

An import cannot be cancelled. So each call into a plugin runs on a thread of its own, which is left behind if the call
does not return; such a thread does not keep the process alive. The price: a plugin is not imported on the main thread,
so one that sets signal handlers at import fails. And a module that loads plugins while it is imported itself blocks
plugins that import this module, until they time out: load plugins later.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from eosfw.concurrency import Runtime
from eosfw.errors import PluginError

LOAD_TIMEOUT = 30.0
"""In seconds; much longer than an import from a slow disk takes."""


def call_with_timeout(timeout: float, call: Callable[[], Any], runtime: Runtime) -> Any:
    """Call on a thread of its own; return its result or raise its error. PluginError after `timeout` seconds."""
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
