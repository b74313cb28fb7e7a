"""A task that runs in another process, as the worker sees it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final

from eosfw.concurrency import Runtime
from eosfw.errors import DamagedDataError, EosfwError, TaskFailedError
from eosfw.ids import ConnectorTaskId
from eosfw.observe import Metric, event_from_json
from eosfw.runtime.hosting.connection import ConnectionLostError, TaskConnection
from eosfw.runtime.hosting.messages import error_to_json, metrics_from_json, status_from_json, with_earlier
from eosfw.runtime.status import Notice, TaskState, TaskStatus
from eosfw.runtime.tasks.plan import AssignedTask
from eosfw.state.steps import StepEvent

logger = logging.getLogger(__name__)

_WAITS = "waits for a process to run in"
_SILENT_AFTER: Final = 10.0
"""Seconds without a word of a process, which else speaks each second, before the status says so."""


@dataclass(frozen=True, slots=True)
class HostedTaskServices:
    """What the worker does for its tasks in other processes."""

    runtime: Runtime
    observe: Callable[[StepEvent], None]
    """Keeps the steps; the observers of plugins hear of them in the task's own process."""
    fence_zombies: Callable[[str, int], None]
    owns: Callable[[AssignedTask], bool]
    """Whether this worker still owns a task in its generation, by the newest that it knows."""
    measured: Callable[[ConnectorTaskId, Sequence[Metric]], None]
    """Keeps what the plugins of a task measure (KIP-877)."""
    on_topic: Callable[[ConnectorTaskId, str], None]
    """Keeps the topics that a task writes to (KIP-558)."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One process at one task; of two, the later has the greater number."""

    number: int
    host: str
    pid: int
    connection: TaskConnection
    clock_shift: float
    """Seconds to add to its clock to get the worker's."""

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}"


class HostedTask:
    """The `LaunchedTask` in another process, and the `Spawned` that it runs on; thread-safe.

    The newest process that came for the task is its owner. One that came before is told so when it asks, which it does
    whenever it was fenced: so it does not initialise the task's transactional id again.
    """

    def __init__(self, task: AssignedTask, services: HostedTaskServices, *, paused: bool) -> None:
        self.id, self.name = task.id, f"hosted-{task.id}-g{task.generation}"
        self._task, self._services = task, services
        self._lock = services.runtime.lock()
        self._ended = services.runtime.event()
        self._paused, self._stopping = paused, False
        self._attempt: Attempt | None = None
        self._connected = self._job_over = False
        self._newest = TaskStatus(task.id, task.generation, TaskState.UNASSIGNED, waiting=f"task {task.id} {_WAITS}")
        self._earlier: list[TaskStatus] = []
        self._heard = services.runtime.now()

    # --- what the worker asks

    def status(self) -> TaskStatus:
        with self._lock:
            status = with_earlier(self._newest, self._earlier)
            silence = self._services.runtime.now() - self._heard
            speaker = self._attempt if self._connected and not self._ended.is_set() else None
        waiting, idle_since = status.waiting, status.idle_since
        if speaker is not None and silence > _SILENT_AFTER:
            waiting = f"{speaker} has said nothing for {silence:.0f} s: it may be stopped, or its machine be too busy"
        if idle_since is not None:
            # Silence is no idle time: the process may have records, of which the worker has not heard yet.
            idle_since += silence
        return replace(status, waiting=waiting, trace=waiting or status.trace, idle_since=idle_since)

    def trigger_stop(self) -> None:
        with self._lock:
            self._stopping = True
            unborn = not self._connected
        if unborn:  # what was committed stands in the topics; nobody is there to commit more
            self._end(replace(self.status(), state=TaskState.STOPPED, waiting=None))
        else:
            self._tell("stop")

    def pause(self) -> None:
        self._paused = True
        self._tell("pause")

    def resume(self) -> None:
        self._paused = False
        self._tell("resume")

    def leave_behind(self) -> None:
        """Nothing to note: a worker whose tasks are hosted is alone, so that no group reads their statuses."""

    def cancel(self) -> None:
        self._tell("cancel")

    def kill(self, abort_within: float) -> None:
        self._tell("kill", within=abort_within)

    def join(self, timeout: float | None = None) -> bool:
        return self._ended.wait(timeout)

    def is_alive(self) -> bool:
        return not self._ended.is_set()

    # --- what its processes say

    def attach(self, attempt: Attempt) -> bool:
        """Take a new process for the task; False if it comes too late, and shall end without doing anything."""
        with self._lock:
            known = self._attempt
            if self._ended.is_set() or (known is not None and known.number >= attempt.number):
                return False
            if known is not None:
                self._earlier.append(self._lost(known))
            self._attempt, self._connected = attempt, False
            self._newest = TaskStatus(self.id, self._task.generation, TaskState.UNASSIGNED)
            paused = self._paused
        # Outside the lock, since a peer that reads nothing blocks the send, and `status` must not wait for that.
        attempt.connection.send({"welcome": {"paused": paused}})
        with self._lock:
            self._connected, self._heard = True, self._services.runtime.now()
            stopping, changed = self._stopping, self._paused != paused
        # What was asked while the welcome was under way.
        if changed:
            self._tell("resume" if paused else "pause")
        if stopping:
            self._tell("stop")
        return True

    def _lost(self, attempt: Attempt) -> TaskStatus:
        text = (
            f"task {self.id}: {attempt} was lost, and another one went on from the committed offsets; transactions "
            f"that it committed last may lack in the counts"
        )
        notice = Notice("process lost", text, 1)
        return replace(self._newest, notices=(*self._newest.notices, notice))

    def serve(self, attempt: Attempt) -> None:
        """Handle what a process says until its connection ends."""
        while (message := attempt.connection.receive()) is not None:
            try:
                self._handle(attempt, message)
            except (KeyError, TypeError, ValueError, DamagedDataError) as why:
                logger.warning("%s of task %s sent what no task sends: %r", attempt, self.id, why)
                break
        attempt.connection.close()
        self._detach(attempt)

    def _handle(self, attempt: Attempt, message: Mapping[str, Any]) -> None:
        for line in message.get("events", ()):
            event = event_from_json(line)
            at = max(0.0, event.at + attempt.clock_shift)
            self._services.observe(replace(event, at=at, generation=self._task.generation))
        for topic in message.get("topics", ()):
            self._services.on_topic(self.id, str(topic))
        for level, name, text in message.get("logs", ()):
            logging.getLogger(name).log(level, "%s: %s", attempt, text)
        if (metrics := message.get("metrics")) is not None:
            self._measure(attempt, metrics_from_json(metrics, self.id))
        if (status := message.get("status")) is not None:
            self._report(attempt, self._status(attempt, status), ended=message.get("ended", False))
        # Only now: with the status before, the process would seem to have been idle all the while.
        self._heard = self._services.runtime.now()
        if (question := message.get("ask")) is not None:
            # On a thread of its own: fencing takes a while, and the process has more to say meanwhile.
            name = f"eosfw-answer-{self.id}"
            self._services.runtime.spawn(name, lambda: self._answer(attempt, question, message["number"]))

    def _measure(self, attempt: Attempt, metrics: Sequence[Metric]) -> None:
        with self._lock:
            newest = self._attempt is attempt
        if newest:
            self._services.measured(self.id, metrics)

    def _status(self, attempt: Attempt, given: Mapping[str, Any]) -> TaskStatus:
        status = status_from_json(given, self.id, self._task.generation)
        if status.idle_since is None:
            return status
        return replace(status, idle_since=status.idle_since + attempt.clock_shift)

    def _report(self, attempt: Attempt, status: TaskStatus, *, ended: bool) -> None:
        with self._lock:
            if self._attempt is not attempt or self._ended.is_set():
                return  # of a process that was replaced
            self._newest = status
        if ended:
            self._end(status)

    def _answer(self, attempt: Attempt, question: str, number: int) -> None:
        answer: dict[str, Any] = {"answer": number}
        try:
            if question == "fence":
                self._services.fence_zombies(self.id.connector, self._task.generation)
            else:
                answer["value"] = self._owned_by(attempt)
        except Exception as error:  # noqa: BLE001 (the task that asked decides what it means)
            answer["error"] = error_to_json(error)
        with suppress(ConnectionLostError):  # its connection's own thread notices
            attempt.connection.send(answer)

    def _owned_by(self, attempt: Attempt) -> bool:
        with self._lock:
            newest = self._attempt is attempt and not self._ended.is_set()
        return newest and self._services.owns(self._task)

    def _detach(self, attempt: Attempt) -> None:
        with self._lock:
            if self._attempt is not attempt or self._ended.is_set():
                return
            self._connected = False
            why = f"{attempt} was lost; task {self.id} {_WAITS}"
            # It is not drained, whatever it said last: what is left to do, another process will find.
            self._newest = replace(self._newest, state=TaskState.UNASSIGNED, waiting=why, idle_since=None)
            stopping, over = self._stopping, self._job_over
        if stopping:
            self.trigger_stop()
        elif over:
            self.job_ended(None)

    # --- how it ends

    def job_ended(self, error: EosfwError | None) -> None:
        """No process runs any more, and none will come."""
        with self._lock:
            self._job_over = True
            # The host may say so before this worker has read what the process said last.
            unread = self._connected and error is None
        if not unread and not self._ended.is_set():
            text = "its process ended without a word" if error is None else str(error)
            failure = TaskFailedError(f"task {self.id}: {text}")
            if error is not None:
                failure.exit_code = error.exit_code
            self._end(replace(self._newest, state=TaskState.FAILED, error=failure, trace=text, waiting=None))

    def _end(self, status: TaskStatus) -> None:
        with self._lock:
            if self._ended.is_set():
                return
            self._newest = status
            self._ended.set()

    def _tell(self, what: str, **more: float) -> None:
        with self._lock:
            attempt = self._attempt if self._connected else None
        if attempt is not None:
            with suppress(ConnectionLostError):  # its connection's own thread notices
                attempt.connection.send({"do": what, **more})
