"""A simulated Spark that runs one query: drivers on one checkpoint, their executors, and what happens to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count

from eosfw.observe import Announcer
from eosfw.protocols import Observer
from pytest_eos.simulation.fault_plan import PlannedFault
from pytest_eos.simulation.workers import SimulatedWorker, StepFaults
from pytest_eos.virtual import VirtualRuntime

from .checkpoint import Checkpoint
from .python_processes import Python
from .sinks import Batch, Publish
from .tasks import Executor, Part, Stage

DRIVER, RIVAL = "driver", "rival"
_RESTART, _LONGEST_RESTART = 1.0, 32.0
"""Seconds after which a query that has failed is started again: twice as many each time that it fails anew."""


@dataclass(frozen=True, slots=True)
class StreamingQuery:
    """What the drivers run: the batches of an input, and how each is published. Spark's `StreamingQuery`."""

    query_id: str
    checkpoint: Checkpoint
    batches: Sequence[Batch]
    publish: Publish
    row_seconds: float
    """How long each Arrow batch of rows takes to come."""

    def finished(self) -> bool:
        """Whether the checkpoint has the commit of the last batch."""
        return self.checkpoint.last("commits") == len(self.batches) - 1


class Driver:
    """A driver over all of its starts, with the executors that it has each time."""

    def __init__(self, cluster: SparkCluster, name: str, executors: int) -> None:
        self.cluster, self.worker = cluster, SimulatedWorker(name)
        prefix = "" if name == DRIVER else f"{name}-"
        self.executors = [
            Executor(SimulatedWorker(f"{prefix}{letter}"), cluster.launch, cluster.python)
            for letter in "abc"[:executors]
        ]
        self.stage: Stage | None = None
        self.failures: list[str] = []
        self.in_vain = 0
        """How often it has failed since a batch was finished."""

    @property
    def runs(self) -> bool:
        """Whether it has a process that has not ended."""
        return self.worker.process is not None and not self.worker.process.ended

    def start(self) -> None:
        """Start it with new executors; those of an earlier start go on, unheard."""
        worker = self.worker
        worker.new_process(self.cluster.runtime)
        for executor in self.executors:
            executor.restart()
        self.cluster.python(worker).run("main", self._main)

    def _main(self) -> None:
        try:
            self._run_query()
        except Exception as why:  # noqa: BLE001 - a query fails by whatever it is, and is started again
            self.failures.append(f"{self.worker.name} at {self.cluster.runtime.now():.1f} s: {why!r}")
            self.worker.kill(min(_LONGEST_RESTART, _RESTART * 2**self.in_vain))
            self.in_vain += 1
        else:
            self.worker.kill(0.0)

    def _run_query(self) -> None:
        """Batch after batch, as Spark's `MicroBatchExecution` does."""
        query, checkpoint, process = self.cluster.query, self.cluster.query.checkpoint, self.worker.process
        assert process is not None
        planned, finished = checkpoint.last("offsets"), checkpoint.last("commits")
        number = max(planned, finished + 1)
        if planned == finished:
            planned, number = finished, finished + 1
        while number < len(query.batches):
            if number > planned:
                process.sleep(0.01)
                checkpoint.add("offsets", number)
            process.sleep(0.01)
            query.publish(query.batches[number], lambda parts, of=number: self._run_stage(of, parts))  # type: ignore[misc]
            process.sleep(0.01)
            checkpoint.add("commits", number)
            number, self.in_vain = number + 1, 0

    def _run_stage(self, batch: int, parts: list[Part]) -> list[object]:
        query = self.cluster.query
        properties = {"sql.streaming.queryId": query.query_id, "streaming.sql.batchId": str(batch)}
        assert self.worker.process is not None
        self.stage = Stage(self.worker.process, self.executors, properties, query.row_seconds)
        return self.stage.run(parts, lambda: next(self.cluster.attempt_numbers))


class SparkCluster:
    """The drivers of one query; a rival comes where a fault says so, and stays as long as it does not fail."""

    def __init__(
        self,
        runtime: VirtualRuntime,
        query: StreamingQuery,
        *,
        executors: int,
        observers: tuple[Observer, ...],
    ) -> None:
        self.runtime, self.query = runtime, query
        self._observers = observers
        self.attempt_numbers = count()
        self.drivers = {name: Driver(self, name, executors) for name in (DRIVER, RIVAL)}
        self._over = False

    @property
    def simulated(self) -> Mapping[str, SimulatedWorker]:
        """All processes that faults happen to, by name."""
        return {worker.name: worker for driver in self.drivers.values() for worker in self._processes(driver)}

    def start(self) -> None:
        """Start the driver, again and again until all batches are finished."""
        driver = self.drivers[DRIVER]

        def supervise() -> None:
            while not self.query.finished():
                driver.start()
                driver.worker.gone.wait()
                self.runtime.sleep(driver.worker.down)

        self.runtime.spawn("supervisor", supervise)

    @property
    def failures(self) -> int:
        """How often the query has failed."""
        return sum(len(driver.failures) for driver in self.drivers.values())

    def state(self) -> str:
        """How far it has come, and what queries have failed of last."""
        failures = [each for driver in self.drivers.values() for each in driver.failures[-1:]]
        reached = [f"{log}/{self.query.checkpoint.last(log)}" for log in ("offsets", "commits")]
        return "\n".join([", ".join(reached), *failures])

    def beside(self, fault: PlannedFault, worker: SimulatedWorker) -> None:
        """What happens besides what every process can meet."""
        if fault.kind == "take-over" and not self.drivers[RIVAL].runs:
            self.drivers[RIVAL].start()
        for driver in self.drivers.values():
            for attempt in [one for each in driver.executors if each.worker is worker for one in each.attempts]:
                if driver.stage is not None and fault.kind == "speculation":
                    driver.stage.speculate(attempt)
                if driver.stage is not None and fault.kind == "broken-rows":
                    driver.stage.break_off(attempt)

    def end(self) -> None:
        """End all processes."""
        self._over = True
        for worker in self.simulated.values():
            if worker.process is not None:
                worker.process.end()

    # --- processes

    def launch(self, executor: Executor) -> None:
        """Start the process of an executor, and again if it is killed."""
        worker = executor.worker
        process, gone = worker.new_process(self.runtime), worker.gone

        def supervise() -> None:
            gone.wait()
            self.runtime.sleep(worker.down)
            if worker.process is process and not self._over:
                executor.restart()

        self.runtime.spawn(f"supervisor of {worker.name}", supervise)

    def python(self, worker: SimulatedWorker) -> Python:
        """A new Python process of a driver or an executor."""
        assert worker.process is not None
        return Python(worker.process, Announcer((*self._observers, StepFaults(worker))))

    @staticmethod
    def _processes(driver: Driver) -> list[SimulatedWorker]:
        return [driver.worker, *(executor.worker for executor in driver.executors)]
