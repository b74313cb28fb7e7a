"""The backend of one worker that can be frozen or killed, as SIGSTOP and SIGKILL do to a process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from eosfw.concurrency import Runtime
from eosfw.errors import ProducerFencedError
from eosfw.ids import leader_transactional_id
from eosfw.observe import StepEvent
from eosfw.protocols import Backend, GroupAssignment, GroupConsumer

_HOLD = 0.1
"""Seconds between two looks whether the worker still stands."""


class FreezableBackend:
    """A backend whose member of the group falls silent while its worker is frozen; all other calls go to the real one.

    It is an observer, too: while the whole worker is suspended, each of its threads stands before its next step.
    """

    name: ClassVar[str] = "freezable"

    def __init__(self, real: Backend, group_id: str, runtime: Runtime) -> None:
        self.real, self._runtime = real, runtime
        self._leader_id = leader_transactional_id(group_id)
        self.frozen = False
        """Whether the membership stands still; tasks go on until they ask whose they are."""
        self.suspended = False
        """Whether the whole worker stands still."""
        self.crashed = False
        """Whether the worker ended without a farewell."""
        self.fenced_as_leader = 0
        """How many calls of its producer as a leader were refused by fencing."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self.real, name)

    def group_consumer(self, *args: Any, **kwargs: Any) -> FreezableConsumer:
        """A member that can be frozen."""
        return FreezableConsumer(self.real.group_consumer(*args, **kwargs), self)

    def producer(self, transactional_id: str | None, **how: Any) -> Any:
        """A producer; that of the leader counts its fencings."""
        made = self.real.producer(transactional_id, **how)
        return _LeadersProducer(made, self) if transactional_id == self._leader_id else made

    def observe(self, event: StepEvent) -> None:
        """Hold the thread that announces a step while the whole worker is suspended."""
        self._hold(lambda: self.suspended)

    def hold(self) -> None:
        """Block the calling thread while the membership is frozen."""
        self._hold(lambda: self.frozen or self.suspended)

    def _hold(self, stands: Callable[[], bool]) -> None:
        while stands() and not self.crashed:
            self._runtime.sleep(_HOLD)


class FreezableConsumer:
    """A `GroupConsumer` whose thread can be frozen, so that its worker falls silent."""

    def __init__(self, real: GroupConsumer, worker: FreezableBackend) -> None:
        self._real, self._worker = real, worker

    def poll(self, timeout: float) -> GroupAssignment:
        """Poll, unless the worker is frozen."""
        self._worker.hold()
        return self._real.poll(timeout)

    def confirm(self, timeout: float) -> None:
        """Confirm, unless the worker is frozen."""
        self._worker.hold()
        self._real.confirm(timeout)

    def close(self, timeout: float = 5.0) -> None:
        """Leave the group; a worker that crashed says nothing."""
        if not self._worker.crashed:
            self._real.close(timeout)


class _LeadersProducer:
    def __init__(self, real: Any, worker: FreezableBackend) -> None:
        self._real, self._worker = real, worker

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def commit_transaction(self, timeout: float) -> None:
        try:
            self._real.commit_transaction(timeout)
        except ProducerFencedError:
            self._worker.fenced_as_leader += 1
            raise
