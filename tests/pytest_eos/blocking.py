"""Connectors with a call that blocks, or that never say whether they are at their end."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Any

from tests.pytest_eos.counter import CounterConnector, CounterTask

LONG = 100.0


class PollingTask(CounterTask):
    """Waits in poll, as for a network that gives no answer."""

    def poll(self) -> Any:
        with suppress(Exception):  # as connectors do that "never fail"
            time.sleep(LONG)
        return super().poll()


class Polling(CounterConnector):
    name, task = "polling", PollingTask


class StoppingTask(CounterTask):
    """Waits in stop."""

    def stop(self) -> None:
        time.sleep(LONG)


class Stopping(CounterConnector):
    name, task = "stopping", StoppingTask


class UnknownEndTask(CounterTask):
    """Does not say whether it has more to give."""

    def at_end(self) -> Any:
        return None


class UnknownEnd(CounterConnector):
    task = UnknownEndTask
