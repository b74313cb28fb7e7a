"""Zombies: tasks, leaders or workers that are frozen, and woken after their successor has started."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from eosfw.observe import Freeze, Gate, Lane, TaskStep
from pytest_eos.environment.config.clocks import needs_real_clock
from pytest_eos.environment.config.markers import ZombieSpec, leader_step, one_step
from pytest_eos.runs.groups.distributed_group import DistributedGroup
from pytest_eos.runs.groups.worker_group import WorkerGroup
from pytest_eos.runs.groups.zombies import LeaderZombie, WorkerZombie
from pytest_eos.runs.run_harness import RunHarness
from pytest_eos.runs.worker_process import WorkerProcess


class Zombie:
    """A task that is frozen before a step, or will be."""

    def __init__(self, group: WorkerGroup, gate: Gate, nth: int) -> None:
        self._group, self._gate, self._nth = group, gate, nth
        self._woken = False

    @property
    def rose(self) -> bool:
        """Whether it was frozen and woken."""
        return self._gate.fired and self._woken

    @property
    def freeze(self) -> Freeze | None:
        """The event before which it was frozen, from when to when; None if it was not."""
        return self._gate.freeze

    @property
    def lane(self) -> Lane:
        """The task and generation that was frozen."""
        event = self._gate.event
        if event is None or event.task is None:
            raise RuntimeError(f"{self} is not frozen yet: call await_frozen first")
        return Lane(event.connector, event.generation or 0, event.task.task)

    def await_frozen(self) -> Zombie:
        """Wait until the task is frozen; fail the test if it ends, or drains, before it reaches the step."""
        reached = self._gate.reached
        self._group.until(lambda: self._gate.fired or self._has_passed(), f"{self}", sooner=reached)
        if not self._gate.fired:
            pytest.fail(f"{self.complaint()} {self._group.state()}", pytrace=False)
        return self

    def wake(self) -> Zombie:
        """Continue the task."""
        self._woken = True
        self._gate.open()
        return self

    def await_end(self) -> Zombie:
        """Wait until the task has ended: fenced, superseded, or stopped."""
        lane = self.lane
        self._group.until(lambda: self._ended(lane), f"the end of {self}")
        return self

    @property
    def fenced(self) -> bool:
        """Whether it got a fencing error."""
        return self._gate.fired and self.lane in self._group.history.zombies()

    @property
    def killed(self) -> bool:
        """Whether its worker was killed meanwhile."""
        return self.rose and self._group.kills > 0

    def complaint(self) -> str:
        """The reason why a test with this zombie proves nothing."""
        if self._gate.fired:
            return f"the zombie was never woken: {self} stood frozen until the end of the test."
        again = f" for the {self._nth}. time (nth={self._nth})" if self._nth > 1 else ""
        return f"the zombie never rose: no task came by{again}: {self}."

    def _has_passed(self) -> bool:
        return self._group.drained(1.0)

    def _ended(self, lane: Lane) -> bool:
        last = self._group.history.last_steps()[lane].step
        return last in (TaskStep.SUPERSEDED, TaskStep.STOPPED, TaskStep.FAILED)

    def __str__(self) -> str:
        return str(self._gate)


class Zombies:
    """Creates the zombies of one test."""

    def __init__(self, eos: RunHarness) -> None:
        self._eos = eos
        self.made: list[Zombie] = []
        self.of_groups: list[LeaderZombie | WorkerZombie] = []
        self.processes: list[WorkerProcess] = []

    def task(
        self,
        at: TaskStep | str,
        *,
        task: int | None = None,
        connector: str | None = None,
        nth: int = 1,
        worker: WorkerGroup | None = None,
    ) -> Zombie:
        """Freeze a task before the nth occurrence of a step."""
        step = one_step(at, "zombies")
        group = worker or self._eos.worker()
        zombie = Zombie(group, group.gates.freeze(step, task=task, connector=connector, nth=nth), nth)
        self.made.append(zombie)
        return zombie

    def process(
        self,
        connector: str,
        properties: Mapping[str, object],
        *,
        at: TaskStep | str,
        nth: int = 1,
        group: str | None = None,
        worker_properties: Mapping[str, object] | None = None,
    ) -> WorkerProcess:
        """Run a worker in a process of its own that stops itself (SIGSTOP) before a step.

        `connector` is `module:Class`, which the process imports; `worker_properties` are for its worker. Processes
        do not share virtual time: mark such a test `@pytest.mark.eos_clock("real")`.
        """
        if self._eos.cluster.virtual:
            raise needs_real_clock("a worker in a process of its own")
        step = one_step(at, "zombies")
        process = WorkerProcess.start(
            self._eos, connector, properties, ZombieSpec(step, nth, None), group, worker_properties or {}
        )
        self.processes.append(process)
        return process

    def leader(self, group: DistributedGroup, at: TaskStep | str, *, nth: int = 1) -> LeaderZombie:
        """Freeze the leader of a group (`eos.distributed`), with its whole worker, before a step of the leader."""
        step = leader_step(at, "zombies")
        _require_group(group, "leader")
        zombie = LeaderZombie(group, group.gates.freeze(step, nth=nth))
        self.of_groups.append(zombie)
        return zombie

    def worker(self, group: DistributedGroup, worker: str) -> WorkerZombie:
        """Freeze a whole worker of a group now: its membership, its tasks and its steps as the leader stand still."""
        _require_group(group, "worker")
        zombie = WorkerZombie(group, worker)
        self.of_groups.append(zombie)
        return zombie

    def complaints(self) -> list[str]:
        """A message for each zombie that was not frozen and woken."""
        zombies: list[Zombie | LeaderZombie | WorkerZombie | WorkerProcess] = [
            *self.made,
            *self.of_groups,
            *self.processes,
        ]
        return [zombie.complaint() for zombie in zombies if not zombie.rose]

    def close(self) -> None:
        """Wake every zombie and count them."""
        for zombie in self.made:
            self._count(zombie)
            zombie.wake()
        for of_group in self.of_groups:
            self._count(of_group)
            of_group.release()
        for process in self.processes:
            process.close()
            process.count(self._eos.statistics)

    def _count(self, zombie: Zombie | LeaderZombie | WorkerZombie) -> None:
        if zombie.rose:
            self._eos.statistics.zombies += 1
            self._eos.statistics.fenced += zombie.fenced
            self._eos.statistics.stopped += not zombie.fenced


def _require_group(group: object, call: str) -> None:
    """Raise TypeError for a single worker, which has no leader and no successor."""
    if not isinstance(group, DistributedGroup):
        raise TypeError(f"zombies.{call} takes a group, as `eos.distributed` returns it, not a {type(group).__name__}")
