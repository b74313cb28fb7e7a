"""One connector that watches its source (Kafka Connect's `WorkerConnector`)."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from eosfw.concurrency import Queue, Runtime, Spawned
from eosfw.config import Config
from eosfw.connectors import OffsetReader, SourceConnector
from eosfw.errors import RetriableError, one_line
from eosfw.observe import PluginMetricsRegistry
from eosfw.state.tasks.backoff import ExponentialBackoff

logger = logging.getLogger(__name__)

USUAL_PAUSE = 60.0
"""Seconds between two looks at a source, unless `watch` says otherwise (Confluent's `table.poll.interval.ms`)."""
LONGEST_PAUSE = 3600.0
"""Of what `watch` returns: a clock cannot wait for ever."""
FIRST_RETRY, LONGEST_RETRY = 1.0, 60.0
"""Seconds before what failed for a passing reason is tried again: at first, and at most."""
STOP_TIMEOUT = 5.0
"""Seconds that a successor waits for the end of the watcher before it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WatcherServices:
    """What watchers ask of their worker; called on their threads."""

    runtime: Runtime
    reconfigure: Callable[[str], None]
    """Asks a connector for its tasks, or has that done soon; a RetriableError is tried again."""
    failed: Callable[[str, BaseException], None]
    """Notes that a connector failed."""
    redacted: Callable[[BaseException], BaseException]
    """Takes secrets out of an error."""
    metrics: PluginMetricsRegistry


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedConnector:
    """A connector with what it is started with."""

    name: str
    connector: SourceConnector
    config: Config
    offset_reader: OffsetReader


class ConnectorWatcher:
    """Calls `start`, `watch` and `stop` of a connector on one thread, and is its `SourceConnectorContext`."""

    def __init__(self, watched: WatchedConnector, services: WatcherServices, before: Spawned | None = None) -> None:
        self._watched, self._services = watched, services
        self.offset_reader = watched.offset_reader
        self._metrics = services.metrics.of_connector(watched.name)
        self.metrics = self._metrics.of("connector")
        self._wakeups: Queue[None] = services.runtime.queue()
        self._ended = False
        self._requested = self._busy = True
        """Whether new task configurations were asked for, and whether the connector is about to start or to get them.

        The second is set before the first is cleared, so that at every moment one of them says so.
        """
        self.error: BaseException | None = None
        """Why it failed."""
        self._before = before
        self.thread = services.runtime.spawn(f"eosfw-connector-{watched.name}", self._run)

    # --- for other threads

    def trigger_stop(self) -> None:
        """Have it end; what the connector asks for from now on is ignored. Does not wait."""
        self._ended = True
        self._wakeups.put(None)

    @property
    def settled(self) -> bool:
        """Whether it has started, and nothing that it asked for is left to do."""
        return self._ended or not (self._requested or self._busy)

    # --- for the connector

    def request_task_reconfiguration(self) -> None:
        self._requested = True
        self._wakeups.put(None)

    def raise_error(self, error: BaseException) -> None:
        if self._ended:
            return
        self._ended = True
        self.error = self._services.redacted(error)
        logger.error("connector %s failed: %s", self._watched.name, one_line(self.error), exc_info=self.error)
        self._services.failed(self._watched.name, self.error)
        self._wakeups.put(None)

    # --- its own thread

    def _run(self) -> None:
        if self._before is not None and not self._before.join(STOP_TIMEOUT):
            logger.warning("connector %s does not stop to watch its source, and is started again", self._watched.name)
        if self._ended:
            self._metrics.close()
            return
        try:
            self._watch_until_ended()
        except BaseException as error:  # noqa: BLE001 whatever a connector raises is its failure
            self.raise_error(error)
        finally:
            self._stop()

    def _watch_until_ended(self) -> None:
        connector = self._watched.connector
        self._retried(lambda: connector.start(self._watched.config, self))
        # As if it had asked: between its last answer and its start the source may have changed.
        self._reconfigure()
        while not self._ended:
            found = self._retried(connector.watch)
            self._reconfigure()
            self._rest(USUAL_PAUSE if found is None else found)

    def _rest(self, pause: float) -> None:
        until = self._services.runtime.now() + min(pause, LONGEST_PAUSE)
        while not self._ended and (left := until - self._services.runtime.now()) > 0:
            self._wait(left)
            self._reconfigure()

    def _reconfigure(self) -> None:
        if self._requested and not self._ended:
            self._busy = True
            self._requested = False
            self._retried(lambda: self._services.reconfigure(self._watched.name))
            self._busy = False

    def _retried(self, what: Callable[[], float | None]) -> float | None:
        """Call it until it succeeds, or the watcher is to end; other errors than a RetriableError are raised."""
        pauses = ExponentialBackoff(FIRST_RETRY, LONGEST_RETRY)
        while not self._ended:
            try:
                return what()
            except RetriableError as error:
                pause = pauses.next() if error.retry_after is None else error.retry_after
                shown = self._services.redacted(error)
                logger.warning(
                    "connector %s could not watch its source, trying again in %g s: %s",
                    self._watched.name,
                    pause,
                    one_line(shown),
                )
            until = self._services.runtime.now() + pause
            while not self._ended and (left := until - self._services.runtime.now()) > 0:
                self._wait(left)
        return None

    def _wait(self, seconds: float) -> None:
        try:
            self._wakeups.get(seconds)
        except TimeoutError:
            return

    def _stop(self) -> None:
        self._ended = True
        try:
            self._watched.connector.stop()
        except BaseException as error:  # noqa: BLE001 it is not asked again, whether its stop failed or not
            shown = self._services.redacted(error)
            logger.warning("connector %s failed when it was stopped: %s", self._watched.name, one_line(shown))
        self._metrics.close()
