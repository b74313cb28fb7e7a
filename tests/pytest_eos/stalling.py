"""Connectors that stall, one for each reason."""

from __future__ import annotations

import threading
from typing import Any

from tests.pytest_eos.bounded import Groups, GroupsTask
from tests.pytest_eos.counter import CounterTask, connector

from eosfw.errors import RetriableError
from eosfw.records import SourceRecord

OVER = threading.Event()
"""Set by the test, so that nobody waits beyond it."""


@connector(name="failing")
class Failing(CounterTask):
    """Its server answers nothing but errors after a first poll."""

    asked = 0

    def poll(self) -> Any:
        self.asked += 1
        if self.asked > 1:
            raise RetriableError("503 Service Unavailable")
        return super().poll()


@connector(name="promising")
class Promising(CounterTask):
    """Says that it has more, and gives nothing."""

    def at_end(self) -> bool:
        return False


@connector(name="silent")
class Silent(CounterTask):
    """Returns no records and does not report its end, because another thread should fetch them."""

    def poll(self) -> Any:
        return []

    def at_end(self) -> Any:
        return None


@connector(Groups, name="open")
class Open(GroupsTask):
    """Never asks for an end of its transaction."""

    def end(self, records: list[SourceRecord]) -> None:
        pass

    def at_end(self) -> bool:
        return False


@connector(name="waiting")
class Waiting(CounterTask):
    """Waits in poll, on a thread of its own."""

    def poll(self) -> Any:
        OVER.wait()
        return super().poll()
