"""Make zombies: freeze a task or a worker at a named step, wake it when its successor is at work."""

from __future__ import annotations

import pytest

from eosfw.observe import Freeze, Gate, Lane, TaskStep
from pytest_eos.clocks import needs_real
from pytest_eos.markers import ZombieSpec, steps
from pytest_eos.run_harness import RunHarness
from pytest_eos.worker_group import WorkerGroup
from pytest_eos.worker_process import WorkerProcess


class Zombie:
    """A task that is, or will be, frozen before a step."""

    def __init__(self, group: WorkerGroup, gate: Gate, nth: int) -> None:
        self._group, self._gate, self._nth = group, gate, nth
        self._woken = False

    @property
    def rose(self) -> bool:
        """Whether it was caught, and woken again."""
        return self._gate.fired and self._woken

    @property
    def freeze(self) -> Freeze | None:
        """What was held, from when to when."""
        return self._gate.freeze

    @property
    def lane(self) -> Lane:
        """Which task of which generation was caught."""
        event = self._gate.event
        if event is None or event.task is None:
            raise RuntimeError(f"{self} is not frozen yet: call await_frozen first")
        return Lane(event.connector, event.generation or 0, event.task.task)

    def await_frozen(self) -> Zombie:
        """Wait until the task stands frozen; fail the test if it ends, or drains, without getting there."""
        reached = self._gate.reached
        self._group.until(lambda: self._gate.fired or self._passed_by(), f"{self}", sooner=reached)
        if not self._gate.fired:
            pytest.fail(f"{self.complaint()} {self._group.state()}", pytrace=False)
        return self

    def wake(self) -> Zombie:
        """Let it go on where it stood."""
        self._woken = True
        self._gate.open()
        return self

    def await_end(self) -> Zombie:
        """Wait until the task is over: fenced, superseded, or stopped."""
        lane = self.lane
        self._group.until(lambda: self._ended(lane), f"the end of {self}")
        return self

    @property
    def fenced(self) -> bool:
        """Whether it met a fencing error."""
        return self._gate.fired and self.lane in self._group.history.zombies()

    def complaint(self) -> str:
        """Why a test with this zombie shows nothing."""
        if self._gate.fired:
            return f"the zombie was never woken: {self} stood frozen until the end of the test."
        again = f" for the {self._nth}. time (nth={self._nth})" if self._nth > 1 else ""
        return f"the zombie never rose: no task came by{again}: {self}."

    def _passed_by(self) -> bool:
        return self._group.worker.drained(1.0)

    def _ended(self, lane: Lane) -> bool:
        last = self._group.history.last_steps()[lane].step
        return last in (TaskStep.SUPERSEDED, TaskStep.STOPPED, TaskStep.FAILED)

    def __str__(self) -> str:
        return str(self._gate)


class Zombies:
    """Makes zombies of one test, and knows those that never rose."""

    def __init__(self, eos: RunHarness) -> None:
        self._eos = eos
        self.made: list[Zombie] = []
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
        """Have a task freeze before a step when it comes by for the nth time."""
        (step,) = steps(at, "zombies")
        group = worker or self._eos.worker()
        zombie = Zombie(group, group.gates.freeze(step, task=task, connector=connector, nth=nth), nth)
        self.made.append(zombie)
        return zombie

    def process(
        self,
        connector: str,
        properties: dict[str, object],
        *,
        at: TaskStep | str,
        nth: int = 1,
        group: str | None = None,
        worker_properties: dict[str, object] | None = None,
    ) -> WorkerProcess:
        """Run a worker in a process of its own that stops itself (SIGSTOP) before a step; wake or kill it by signal.

        `connector` is `module:Class`, which the process imports; `worker_properties` are for its worker. Processes
        share no virtual time: mark such a test `@pytest.mark.eos_clock("real")`.
        """
        if self._eos.cluster.virtual:
            raise needs_real("a worker in a process of its own")
        (step,) = steps(at, "zombies")
        process = WorkerProcess.start(
            self._eos, connector, properties, ZombieSpec(step, nth, None), group, worker_properties or {}
        )
        self.processes.append(process)
        return process

    def complaints(self) -> list[str]:
        """Why zombies of this test show nothing."""
        zombies: list[Zombie | WorkerProcess] = [*self.made, *self.processes]
        return [zombie.complaint() for zombie in zombies if not zombie.rose]

    def close(self) -> None:
        """Count what rose; leave nobody frozen."""
        for zombie in self.made:
            if zombie.rose:
                self._eos.statistics.zombies += 1
                self._eos.statistics.fenced += zombie.fenced
                self._eos.statistics.stopped += not zombie.fenced
            zombie.wake()
        for process in self.processes:
            process.close()
            process.count(self._eos.statistics)
