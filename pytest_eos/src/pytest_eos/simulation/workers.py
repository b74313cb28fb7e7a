"""Workers of one group as processes that a simulation stops, kills and starts again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

from eosfw.errors import ConfigError, EosfwError, RetriableError
from eosfw.observe import History, StepEvent
from eosfw.protocols import Observer
from eosfw.runtime import DistributedHerder
from pytest_eos.environment.clusters.cluster import Cluster
from pytest_eos.runs.groups.distributed_group import DistributedGroup, GroupPlace
from pytest_eos.runs.groups.extra_plugins import ExtraPlugins
from pytest_eos.runs.groups.herders import HerderGroup
from pytest_eos.simulation.network import SimulatedRestServer
from pytest_eos.virtual import VirtualProcess, VirtualRuntime

T = TypeVar("T")
_RESTART = 1.0
"""Seconds after which a worker is started again whose start failed."""
_ANSWER = 30.0
"""Seconds to wait for a worker's answer to a call."""


@dataclass(slots=True)
class SimulatedWorker:
    """One worker over all of its starts."""

    name: str
    starts: int = 0
    process: VirtualProcess | None = None
    """Its process since it was started last."""
    gone: Any = None
    """Is set when that process has ended."""
    down: float = _RESTART
    """Seconds until it is started again then."""
    points: int = 0
    """The yield points of its earlier processes."""
    cut: str | None = None
    """What of its network does not work."""
    strikes: list[tuple[int, Callable[[], None]]] = field(default_factory=list)
    """What is to happen at which yield point, counted over all of its starts; in order."""
    clock_error: float = 0.0
    """How many seconds the clock of its machine is ahead of the others."""
    on_step: Callable[[SimulatedWorker, str], bool] | None = None
    """Is told of each step of it beforehand; tells whether something happened to the worker."""

    def arm(self) -> None:
        """Wait for the yield point of the next strike."""
        if not self.strikes or self.process is None:
            return
        first = point, strike = self.strikes[0]

        def struck() -> None:
            # Taken away only now: a process that ends before this point has a successor, which comes to it, too.
            if first in self.strikes:
                self.strikes.remove(first)
                self.arm()
                strike()

        self.process.at_point(max(point - self.points, self.process.points + 1), struck)

    def new_process(self, runtime: VirtualRuntime) -> VirtualProcess:
        """Have a new process; an earlier one that has not ended goes on, or stands still, unheard."""
        if self.process is not None and not self.process.ended:
            self.points += self.process.points
        self.starts += 1
        process = self.process = runtime.process(f"{self.name}{self.starts}")
        process.clock_error = self.clock_error
        self.gone = runtime.event()
        self.arm()
        return process

    def set_clock(self, error: float) -> None:
        """Let the wall clock of its machine be wrong by so many seconds, for its later processes too."""
        self.clock_error = error
        if self.process is not None:
            self.process.clock_error = error

    def kill(self, down: float) -> None:
        """End its process; it is started again after `down` seconds."""
        if self.process is not None and not self.process.ended:
            self.points += self.process.points
            self.down = down
            self.process.end()
            self.gone.raise_flag()


class StepFaults:
    """An observer of one worker's steps that lets happen what is to happen before them."""

    name: ClassVar[str] = "step-faults"

    def __init__(self, worker: SimulatedWorker) -> None:
        self._worker = worker

    def observe(self, event: StepEvent) -> None:
        """Stop the worker here if something happened to it."""
        worker = self._worker
        if worker.on_step is not None and worker.on_step(worker, event.step.value) and worker.process is not None:
            worker.process.pass_turn()


class SimulatedHerders(HerderGroup):
    """Workers of a group, each in a process of its own that is started again when it ends."""

    runtime: VirtualRuntime

    def __init__(self, cluster: Cluster, plugins: ExtraPlugins, name: str, backend: str, **worker: str) -> None:
        super().__init__(cluster, plugins, name, backend, **worker)
        self.simulated: dict[str, SimulatedWorker] = {}
        self._over = False

    def launch(self, worker: str, observers: Sequence[Observer]) -> None:
        """Start a worker, again and again until the simulation is over; returns at once."""
        simulated = self.simulated.setdefault(worker, SimulatedWorker(worker))
        self.runtime.spawn(f"supervisor of {worker}", lambda: self._supervise(simulated, observers))

    def ask(self, worker: str, call: Callable[[DistributedHerder], T], timeout: float = _ANSWER) -> T:
        """Call a worker on a greenlet of its process; TimeoutError if it does not answer, stands still or has ended."""
        process, herder = self.simulated[worker].process, self.workers.get(worker)
        if process is None or herder is None:
            raise TimeoutError(f"worker {worker} does not run")
        answers: list[T] = []
        errors: list[Exception] = []
        done = self.runtime.event()

        def answer() -> None:
            try:
                answers.append(call(herder))
            except Exception as why:  # noqa: BLE001 - it is raised where it was asked
                errors.append(why)
            done.set()

        process.spawn("call", answer)
        if not done.wait(timeout):
            raise TimeoutError(f"worker {worker} did not answer within {timeout:g} s")
        if errors:
            raise errors[0]
        return answers[0]

    def up(self) -> list[str]:
        """The workers that run and do not stand still."""
        return [name for name in self.workers if not _stands(self.simulated[name])]

    def is_frozen(self, worker: str) -> bool:
        return _stands(self.simulated[worker]) or super().is_frozen(worker)

    def all_up(self) -> bool:
        """Whether every worker runs."""
        return len(self.up()) == len(self.simulated)

    def stop(self, worker: str = "a") -> None:
        """Stop a worker cleanly, and start it no more."""
        self._over = True
        super().stop(worker)

    def _supervise(self, simulated: SimulatedWorker, observers: Sequence[Observer]) -> None:
        while not self._over:
            process = simulated.new_process(self.runtime)
            process.spawn("main", lambda started=process: self._start(simulated, started, observers))  # type: ignore[misc]
            simulated.gone.wait()
            self.workers.pop(simulated.name, None)
            if not self._over:
                self.runtime.sleep(simulated.down)

    def _start(self, simulated: SimulatedWorker, process: VirtualProcess, observers: Sequence[Observer]) -> None:
        def is_cut(from_worker: str, to_worker: str) -> bool:
            return "workers" in (self.simulated[from_worker].cut, self.simulated[to_worker].cut)

        server = SimulatedRestServer(self.network, simulated.name, process, is_cut)
        try:
            herder = self._build(
                simulated.name,
                self._connect(process),
                server,
                (*observers, StepFaults(simulated)),
                process,
                name=f"{process.name}-worker",
            )
            herder.start()
        except EosfwError:  # as a process that exits with an error, and is started again
            server.close()
            simulated.kill(_RESTART)
        else:
            self.workers[simulated.name] = herder

    def __exit__(self, *_: object) -> None:
        self._over = True
        for simulated in self.simulated.values():
            if simulated.process is not None:
                simulated.process.end()


def _stands(simulated: SimulatedWorker) -> bool:
    return simulated.process is None or simulated.process.stands


class SimulatedGroup(DistributedGroup):
    """A group of simulated workers."""

    _herders: SimulatedHerders

    def _make_herders(self, place: GroupPlace, plugins: ExtraPlugins) -> SimulatedHerders:
        return SimulatedHerders(place.cluster, plugins, self.name, place.backend, **self.properties)

    @property
    def runtime(self) -> VirtualRuntime:
        """The clock of the workers."""
        return self._herders.runtime

    @property
    def simulated(self) -> dict[str, SimulatedWorker]:
        """The workers over all of their starts, by name."""
        return self._herders.simulated

    def start(self, worker: str) -> None:
        """Start a worker; returns at once."""
        history = self._histories.setdefault(worker, History(self._waiter.runtime))
        self._herders.launch(worker, (*self._observers, self.history, history))

    def all_up(self) -> bool:
        """Whether every worker runs."""
        return self._herders.all_up()

    def offer(self, name: str, properties: dict[str, str]) -> bool:
        """Create or change a connector at whichever worker leads; False if none takes it now."""
        for worker in self._herders.up():
            try:
                if self._herders.ask(worker, lambda herder: herder.leads()):
                    self._herders.ask(worker, lambda herder: herder.put_connector(name, properties))
                    self.connectors[name] = properties
                    return True
            except ConfigError:
                raise
            except (EosfwError, TimeoutError):
                continue
        return False

    def restart_failed(self, name: str) -> int:
        """Restart the failed tasks of a connector as an operator does; return how many there were."""
        failed = self.failures()
        for task in failed:
            for worker in self._herders.up():
                try:
                    self._herders.ask(worker, lambda herder, task=task: herder.restart_task(task.id))  # type: ignore[misc]
                except (RetriableError, TimeoutError, EosfwError):
                    continue
                break
        if self.connector_failures():
            for worker in self._herders.up()[:1]:
                self._herders.ask(worker, lambda herder: herder.restart_connector(name))
        return len(failed)
