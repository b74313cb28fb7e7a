"""Connectors that stall, one for each reason."""

from __future__ import annotations

import threading
from typing import Any

from tests.pytest_eos.bounded import Groups, GroupsTask
from tests.pytest_eos.counter import CounterConnector, CounterTask

from eosfw.errors import RetriableError
from eosfw.records import SourceRecord

OVER = threading.Event()
"""Set by the test, so that nobody waits beyond it."""


class FailingTask(CounterTask):
    """Its server answers nothing but errors after a first poll."""

    asked = 0

    def poll(self) -> Any:
        self.asked += 1
        if self.asked > 1:
            raise RetriableError("503 Service Unavailable")
        return super().poll()


class Failing(CounterConnector):
    name, task = "failing", FailingTask


class PromisingTask(CounterTask):
    """Says that it has more, and gives nothing."""

    def at_end(self) -> bool:
        return False


class Promising(CounterConnector):
    name, task = "promising", PromisingTask


class SilentTask(CounterTask):
    """Returns no records and does not report its end, because another thread should fetch them."""

    def poll(self) -> Any:
        return []

    def at_end(self) -> Any:
        return None


class Silent(CounterConnector):
    name, task = "silent", SilentTask


class OpenTask(GroupsTask):
    """Never asks for an end of its transaction."""

    def end(self, records: list[SourceRecord]) -> None:
        pass

    def at_end(self) -> bool:
        return False


class Open(Groups):
    name, task = "open", OpenTask


class WaitingTask(CounterTask):
    """Waits in poll, on a thread of its own."""

    def poll(self) -> Any:
        OVER.wait()
        return super().poll()


class Waiting(CounterConnector):
    name, task = "waiting", WaitingTask
