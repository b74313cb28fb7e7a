"""Keeps task configurations in line with connectors' properties, in the leader (`reconfigureConnectorTasksWithRetry`).

Kafka Connect has a connector object in one worker that makes the configurations, and a leader that writes them. Here
the leader does both: a connector is asked for its tasks when its properties, or its target state, have changed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from eosfw.concurrency import FairLock, Queue
from eosfw.errors import EosfwError, RequestTimeoutError, RetriableError, one_line
from eosfw.runtime.connectors.watchers import ConnectorWatchers
from eosfw.runtime.distributed.services import HerderServices
from eosfw.runtime.storage.connector_offset_backing_store import ensure_offsets_topic_of
from eosfw.state.startups import Startups
from eosfw.state.storage.config_log import ConnectorEntry
from eosfw.state.storage.config_records import PAUSED, RUN, STARTED, STOPPED

logger = logging.getLogger(__name__)

_FIRST_PAUSE, _LONGEST_PAUSE = 0.25, 60.0
"""Seconds after which a connector that could not be configured is tried again, doubled each time."""
_LOCK_TIMEOUT = 90.0
_CONNECTOR_STATES = {STARTED: "RUNNING", PAUSED: "PAUSED", STOPPED: "STOPPED"}


@dataclass(frozen=True, slots=True)
class _Failure:
    pause: float
    again_at: float
    reported: str | None
    """The error that the connector's state shows; None if it shows none yet."""


class _OutdatedError(Exception):
    """The connector was changed while it was asked for its tasks."""


class ConnectorReconfiguration:
    """Asks connectors for their tasks; one at a time, called by any thread."""

    def __init__(
        self, services: HerderServices, watchers: Callable[[Callable[[str], None]], ConnectorWatchers]
    ) -> None:
        """`watchers` makes those of the connectors, with what one of them calls to be asked for its tasks."""
        self._services = services
        self.watchers = watchers(self.request)
        self._lock = FairLock(services.runtime)
        self.startups = Startups()
        """Of connectors; written under the lock."""
        self._done: dict[str, tuple[str, Mapping[str, str] | None]] = {}
        """By connector: the target state and properties that were dealt with."""
        self._failures: dict[str, _Failure] = {}
        self._looked_at = 0
        """The version of the config topic up to which changes were noted in `_changed`."""
        self._changed: dict[str, None] = {}
        """Connectors that have changed and were not dealt with yet, in the order of their changes."""
        self._requests: Queue[str] = services.runtime.queue()
        self._requested: dict[str, None] = {}
        """Connectors that have asked for new task configurations."""

    def request(self, name: str) -> None:
        """Ask a connector for its tasks soon, though its properties have not changed; any thread may."""
        self._requests.put(name)
        self._services.wake()

    def request_restart(self, name: str) -> None:
        """Have a connector start to watch its source anew, and ask it for its tasks, soon; its state is reported."""
        self.watchers.stop(name)
        self.request(name)

    def follow(self) -> None:
        """Have no connector watch its source: another worker leads the group."""
        self.watchers.stop_all()

    def forget(self) -> None:
        """Look at every connector anew: another worker has led the group meanwhile."""
        self._done.clear()
        self._failures.clear()
        self._requested.clear()
        self._looked_at = 0

    def run(self) -> None:
        """Deal with every connector that has changed; what fails is tried again later.

        It is called again and again: where nothing has changed, only what failed is looked at.
        """
        changes = self._services.topic.changes_since(self._looked_at)
        self._looked_at = changes.version
        self._changed |= dict.fromkeys(changes.names)
        self._take_requests()
        for name in dict.fromkeys((*self._changed, *self._failures, *self._requested)):
            entry = self._services.topic.entry(name)
            if entry.properties is None:
                self._done.pop(name, None)
                self._failures.pop(name, None)
                self.watchers.stop(name)
            elif self._is_due(name, entry) and not self._try(name, entry):
                continue  # another one was being configured all the time: this one must be looked at again
            self._changed.pop(name, None)
            self._requested.pop(name, None)

    def _take_requests(self) -> None:
        with suppress(TimeoutError):  # there are no more
            while True:
                self._requested[self._requests.get(0)] = None

    def restart(self, name: str) -> None:
        """Ask a connector for its tasks now; raise what keeps it from answering."""
        with self._lock.held(self._services.runtime.now() + _LOCK_TIMEOUT) as mine:
            if not mine:
                raise RequestTimeoutError(f"another connector was configured for {_LOCK_TIMEOUT:g} s")
            entry = self._services.connector(name, "Unknown connector: {}")
            try:
                with self._counted(entry, starts=True):
                    self._configure(name, entry, again=True)
                self._services.reports.connector(name, _CONNECTOR_STATES[entry.target_state])
            except Exception as error:
                self._services.reports.connector_failed(name, error)
                raise
            self._settle(name, entry)

    def _is_due(self, name: str, entry: ConnectorEntry) -> bool:
        failure = self._failures.get(name)
        if failure is not None and failure.again_at > self._services.runtime.now():
            return self._done.get(name) != (entry.target_state, entry.properties)
        # Between two looks a connector may be deleted and created anew, be stopped and resumed, or get other properties
        # and these again: then nothing differs from what was dealt with, but it has no tasks, or those of the
        # properties in between.
        lacks_tasks = not entry.tasks or entry.applied_properties != entry.properties
        unapplied = entry.target_state == STARTED and lacks_tasks
        unknown = self._done.get(name) != (entry.target_state, entry.properties)
        return entry.inconsistent or failure is not None or unapplied or unknown or name in self._requested

    def _try(self, name: str, entry: ConnectorEntry) -> bool:
        """Deal with a connector; False if another one was being configured all the time."""
        try:
            with self._lock.held(self._services.runtime.now() + _LOCK_TIMEOUT) as mine:
                if mine:
                    with self._counted(entry, starts=self._starts(name, entry)):
                        self._configure(name, entry)
                    self._report(name, entry)
                    self._settle(name, entry)
                return mine
        except Exception as error:  # noqa: BLE001 one failing connector must not disturb the others (SCN-02)
            self._postpone(name, entry, error)
            return True

    def _starts(self, name: str, entry: ConnectorEntry) -> bool:
        """Whether it starts, or has failed to: not when one that runs is asked for its tasks again."""
        return name in self._failures or self._done.get(name) != (entry.target_state, entry.properties)

    @contextmanager
    def _counted(self, entry: ConnectorEntry, *, starts: bool) -> Iterator[None]:
        """Count a start, by whether it succeeds; a connector that is paused or stopped does not start."""
        counts = starts and entry.target_state == STARTED
        try:
            yield
        except Exception:
            self.startups.failed += counts
            raise
        self.startups.succeeded += counts

    def _configure(self, name: str, entry: ConnectorEntry, *, again: bool = False) -> None:
        services = self._services
        if entry.target_state != STARTED:
            self.watchers.stop(name)
        else:
            validated = services.planner.check(name, entry.properties or {})
            ensure_offsets_topic_of(services.worker_offsets, validated.config)
            if _changed(entry, validated.tasks) and not self._written(name, entry, validated.tasks):
                return
            self.watchers.start(name, validated, again=again)

    def _written(self, name: str, entry: ConnectorEntry, tasks: Sequence[Mapping[str, str]]) -> bool:
        """Write tasks; False, and nothing is written, if they are of a state that the connector has no more.

        It may have been stopped, changed or deleted while it was asked for them; then it is looked at again.
        """

        def check() -> None:
            newest = self._services.topic.entry(name)
            if (newest.target_state, newest.properties) != (entry.target_state, entry.properties):
                raise _OutdatedError

        try:
            self._services.leader.put_task_configs(name, tasks, check)
        except _OutdatedError:
            return False
        return True

    def _report(self, name: str, entry: ConnectorEntry) -> None:
        reports, state = self._services.reports, _CONNECTOR_STATES[entry.target_state]
        # After a failure in any case: that it was reported may not be read back yet.
        if name in self._failures or not reports.has_reported(name, state):
            reports.connector(name, state)

    def _settle(self, name: str, entry: ConnectorEntry) -> None:
        self._failures.pop(name, None)
        self._done[name] = (entry.target_state, entry.properties)

    def _postpone(self, name: str, entry: ConnectorEntry, error: Exception) -> None:
        known = self._failures.get(name)
        pause = _FIRST_PAUSE if known is None else min(_LONGEST_PAUSE, known.pause * 2)
        quiet = isinstance(error, RetriableError)
        reported = None if known is None else known.reported
        if not quiet and reported != (shown := one_line(error)):
            self._services.reports.connector_failed(name, error)
            reported = shown
        self._failures[name] = _Failure(pause, self._services.runtime.now() + pause, reported)
        self._done[name] = (entry.target_state, entry.properties)
        logger.warning(
            "connector %s could not be configured, trying again in %g s: %s",
            name,
            pause,
            one_line(error),
            exc_info=not (quiet or isinstance(error, EosfwError)),
        )


def _changed(entry: ConnectorEntry, tasks: Sequence[Mapping[str, str]]) -> bool:
    """Whether the tasks must be written (`AbstractHerder.taskConfigsChanged`)."""
    if (entry.committed_by or "").startswith(RUN):
        return True  # a run that is still alive finds that its generation was replaced, and ends
    if entry.generation is None or entry.inconsistent or entry.applied_properties != entry.properties:
        return True
    return [dict(task) for task in entry.tasks] != [dict(task) for task in tasks]
