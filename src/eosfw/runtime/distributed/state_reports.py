"""What a worker reports of its connectors and tasks to the status topic (`AbstractHerder`'s listeners)."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable

from eosfw.concurrency import Runtime
from eosfw.errors import described
from eosfw.ids import ConnectorTaskId
from eosfw.runtime.status import Notice, TaskState, TaskStatus
from eosfw.runtime.storage.status_topic import StatusTopic
from eosfw.state.storage.status_records import ReportedStatus, TopicStatus

logger = logging.getLogger(__name__)

_AT_ONCE = (TaskState.RUNNING, TaskState.PAUSED)
"""States that only the owner of a task reports; another worker may have reported before any other state."""


_LONGEST_TRACE = 1 << 16
"""Characters, each of six bytes at most: a broker takes 1 MiB, and an error may quote all that was read."""


class StateReports:
    """The `TaskListener` of a worker in a group; thread-safe, never blocks."""

    def __init__(
        self,
        statuses: StatusTopic,
        worker_id: str,
        generation: Callable[[], int],
        version: Callable[[str], str | None],
        runtime: Runtime,
        *,
        track_topics: bool,
    ) -> None:
        """`version` tells the version of a connector, by the connector's name."""
        self._statuses, self._worker_id, self._generation, self._runtime = statuses, worker_id, generation, runtime
        self._version = version
        self._track_topics = track_topics
        self._noted: dict[str, set[str]] = {}
        """By connector the topics that were reported and not read back yet."""

    def on_status(self, status: TaskStatus) -> None:
        if status.state is TaskState.RUNNING:
            # Its connector may have been deleted since, and its topics forgotten: they are noted anew.
            self._noted.pop(status.id.connector, None)
        waits = status.waiting is not None and status.state is not TaskState.PAUSED
        if waits and not status.state.ended and not status.superseded:
            # Its start is tried again. Readers ignore UNASSIGNED after a RUNNING of the same worker.
            self._put_task(status.id, "RESTARTING", status.trace, late=True)
        elif status.state in _AT_ONCE:
            failures = status.poll_failures
            # RUNNING alone would hide for days that a source does not answer.
            why = f"polls again: {failures}" if failures is not None and failures.ongoing else None
            # Failed polls repeat the state, maybe in a worker that has lost the task and does not know it yet.
            self._put_task(status.id, status.state.value, why, late=failures is not None)
        elif status.state is TaskState.FAILED:
            # A worker of a group goes on, so nobody else tells of it; the status has the trace.
            why = "" if status.error is None else f": {described(status.error)}"
            logger.error("task %s failed, and waits for a restart%s", status.id, why)
            self._put_task(status.id, "FAILED", status.trace, late=True)
        elif status.state is TaskState.STOPPED or status.superseded:
            self._put_task(status.id, "UNASSIGNED", status.trace, late=True)

    def on_topic(self, task: ConnectorTaskId, topic: str) -> None:
        if not self._track_topics:
            return
        noted = self._noted.setdefault(task.connector, set())
        if self._statuses.uses_topic(task.connector, topic):
            noted.discard(topic)
        elif topic not in noted:
            noted.add(topic)
            now = int(self._runtime.wall() * 1000)
            self._statuses.put_topic(TopicStatus(topic, task.connector, task.task, now))

    def on_notice(self, task: ConnectorTaskId, notice: Notice) -> None:
        # A run shows notices in its summary; a worker has none, and the record has the task.
        logger.warning("%s (%s: %d)", notice.text, notice.kind, notice.count)

    def restarting(self, task: ConnectorTaskId) -> None:
        """Report that a task is being restarted."""
        self._put_task(task, "RESTARTING")

    def connector(self, name: str, state: str) -> None:
        """Report the state of a connector."""
        self._statuses.put_connector(name, self._status(name, state))

    def connector_failed(self, name: str, error: BaseException) -> None:
        """Report that a connector failed, with the trace."""
        trace = "".join(traceback.format_exception(error))
        self._statuses.put_connector(name, self._status(name, "FAILED", trace), late=True)

    def has_reported(self, name: str, state: str) -> bool:
        """Whether the status topic has this state of a connector, reported by this worker.

        One of another version was reported before an upgrade, or when an earlier connector of this name was deleted.
        """
        known = self._statuses.connector(name)
        reported = (state, self._worker_id, self._version(name))
        return known is not None and (known.state, known.worker_id, known.version) == reported

    def _put_task(self, task: ConnectorTaskId, state: str, trace: str | None = None, *, late: bool = False) -> None:
        self._statuses.put_task(task, self._status(task.connector, state, trace), late=late)

    def _status(self, connector: str, state: str, trace: str | None = None) -> ReportedStatus:
        shown = None if trace is None else _shortened(trace)
        return ReportedStatus(state, self._worker_id, self._generation(), shown, self._version(connector))


def _shortened(trace: str) -> str:
    """A trace that a record holds: its beginning, which says where, and its end, which says what."""
    left_out = len(trace) - _LONGEST_TRACE
    if left_out <= 0:
        return trace
    half = _LONGEST_TRACE // 2
    return f"{trace[:half]}\n[{left_out} characters left out]\n{trace[-half:]}"
