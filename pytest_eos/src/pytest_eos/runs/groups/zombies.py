"""Zombies of a group's workers: the leader before one of its steps, or a whole worker."""

from __future__ import annotations

from typing import Self

from eosfw.observe import Freeze, Gate, TaskStep
from pytest_eos.runs.groups.distributed_group import DistributedGroup

_ENDS = (TaskStep.FENCED, TaskStep.SUPERSEDED, TaskStep.STOPPED, TaskStep.FAILED)


class GroupZombie:
    """What zombies of workers have in common: frozen, replaced, woken."""

    def __init__(self, group: DistributedGroup) -> None:
        self._group = group
        self._name: str | None = None
        self._was_replaced = self._woken = False

    @property
    def rose(self) -> bool:
        """Whether it was frozen, replaced by another worker, and then woken."""
        return self._woken and self._was_replaced

    @property
    def worker(self) -> str:
        """The name of the frozen worker."""
        if self._name is None:
            raise RuntimeError(f"{self} is not frozen yet: call await_frozen first")
        return self._name

    def complaint(self) -> str:
        """The reason why a test with this zombie proves nothing."""
        if self._name is None:
            return f"the zombie never rose: nobody was caught, or `await_frozen` was not called: {self}."
        if not self._was_replaced:
            return f"the zombie never rose: `await_successor` was not called before it woke: {self}."
        return f"the zombie was never woken: {self} stood frozen until the end of the test."

    def wake(self) -> Self:
        """Continue the worker."""
        self._woken = True
        self._group.wake(self.worker)
        return self

    def release(self) -> None:
        """Let it go on at the end of the test."""


class LeaderZombie(GroupZombie):
    """A leader that is frozen, with its whole worker, before a step, or will be."""

    def __init__(self, group: DistributedGroup, gate: Gate) -> None:
        super().__init__(group)
        self._gate = gate

    @property
    def freeze(self) -> Freeze | None:
        """The event before which it was frozen, from when to when; None if it was not."""
        return self._gate.freeze

    def await_frozen(self) -> Self:
        """Wait until the leader comes to the step; then its whole worker stands still."""
        self._group.until(lambda: self._gate.fired, f"{self}", sooner=self._gate.reached)
        event = self._gate.event
        if event is not None:
            self._name = self._group.worker_of(event)
            self._fenced_before = self._group.fenced_as_leader(self._name)
            self._group.freeze(self._name)
        return self

    def await_successor(self) -> Self:
        """Wait until another worker leads."""
        self._group.until(lambda: self._group.leader() != self.worker, f"a successor of {self}")
        self._was_replaced = True
        return self

    def wake(self) -> Self:
        """Continue the worker."""
        self._gate.open()
        return super().wake()

    def await_end(self) -> Self:
        """Wait until it knows that it leads no more."""
        self._group.until(lambda: not self._group.leads(self.worker), f"the end of {self}")
        return self

    @property
    def fenced(self) -> bool:
        """Whether a write of it was refused by fencing; a leader that asks first whether it leads stops by itself."""
        return self._name is not None and self._group.fenced_as_leader(self._name) > self._fenced_before

    def release(self) -> None:
        """Let it go on at the end of the test."""
        self._gate.open()

    def __str__(self) -> str:
        return f"the leader of group {self._group.name}: {str(self._gate).replace('any task ', '')}"


class WorkerZombie(GroupZombie):
    """A whole worker that stands still: its membership, its tasks, its steps as the leader."""

    def __init__(self, group: DistributedGroup, worker: str) -> None:
        super().__init__(group)
        self._led = group.leads(worker)
        self.tasks = frozenset(group.running(worker))
        """The tasks that it ran when it was frozen."""
        self._fenced_before, self._since = group.fenced_as_leader(worker), group.local.runtime.now()
        self._name = worker
        group.freeze(worker)

    def await_successor(self) -> Self:
        """Wait until other workers run its tasks, and lead if it led."""
        self._group.until(self._is_replaced, f"successors of {self}")
        self._was_replaced = True
        return self

    def await_end(self) -> Self:
        """Wait until each task that it ran has ended in it: fenced, superseded or stopped."""
        self._group.until(lambda: self.tasks <= self._ended(*_ENDS), f"the end of {self}")
        return self

    @property
    def fenced(self) -> bool:
        """Whether one of its tasks, or a write of it as the leader, was refused by fencing."""
        return bool(self._ended(TaskStep.FENCED)) or self._group.fenced_as_leader(self.worker) > self._fenced_before

    def _is_replaced(self) -> bool:
        others = [name for name in self._group.awake() if name != self._name]
        taken = frozenset[object]().union(*(self._group.running(name) for name in others))
        return self.tasks <= taken and (not self._led or any(map(self._group.leads, others)))

    def _ended(self, *steps: TaskStep) -> set[object]:
        events = self._group.history_of(self.worker).events()
        return {event.task for event in events if event.step in steps and event.at >= self._since}

    def __str__(self) -> str:
        return f"worker {self._name} of group {self._group.name}"
