"""Connectors with a call that blocks, or that never say whether they are at their end."""

from __future__ import annotations

import time
from contextlib import suppress
from queue import Empty, Queue
from threading import Thread
from typing import Any

from tests.pytest_eos.counter import CounterConnector, CounterTask, connector

LONG = 100.0


@connector(name="polling")
class Polling(CounterTask):
    """Waits in poll, as for a network that gives no answer."""

    def poll(self) -> Any:
        with suppress(Exception):  # as connectors do that "never fail"
            time.sleep(LONG)
        return super().poll()


@connector(name="stopping")
class Stopping(CounterTask):
    """Waits in stop."""

    def stop(self) -> None:
        time.sleep(LONG)


@connector(name="filling")
class Filling(CounterTask):
    """Has a thread that fills a queue of one place, and waits for it in stop, though the queue is full."""

    def start(self, *given: Any) -> None:
        super().start(*given)
        self.queue: Queue[Any] = Queue(1)
        self.reader = Thread(target=self.fill, daemon=True)
        self.reader.start()

    def fill(self) -> None:
        while records := super().poll():
            self.queue.put(records)

    def poll(self) -> Any:
        with suppress(Empty):
            return self.queue.get(timeout=0.2)

    def stop(self) -> None:
        self.reader.join()


class WatchingConnector(CounterConnector):
    """Waits in watch, as for a notification that does not come."""

    def watch(self) -> Any:
        time.sleep(LONG)


@connector(WatchingConnector, name="watching")
class Watching(CounterTask):
    """Its connector blocks, it does not."""


@connector()
class UnknownEnd(CounterTask):
    """Does not say whether it has more to give."""

    def at_end(self) -> Any:
        return None
