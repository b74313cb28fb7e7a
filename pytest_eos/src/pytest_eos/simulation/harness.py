"""The harness of one simulated run: `eos` in a test that is marked with `eos_simulation`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NoReturn

import pytest

from eosfw.concurrency import Runtime
from eosfw.connectors import SourceConnector, SourceTask
from eosfw.test_support import FaultInjection, RestartInspection
from pytest_eos.environment.clusters.cluster import IN_PROCESS, Cluster
from pytest_eos.environment.config.installed_plugins import installed_plugins
from pytest_eos.environment.diagnostics.task_calls import CallLog
from pytest_eos.harness import EosHarness, Until
from pytest_eos.runs.groups.distributed_group import GroupPlace
from pytest_eos.runs.groups.worker_group import WorkerGroup
from pytest_eos.runs.groups.worker_harness import HarnessSettings
from pytest_eos.runs.run import Run
from pytest_eos.simulation.fault_execution import FaultExecution
from pytest_eos.simulation.fault_plan import FaultPlan, PlannedFault
from pytest_eos.simulation.trace import Trace
from pytest_eos.simulation.unsupported import NotSimulatedError, Refusals
from pytest_eos.simulation.workers import SimulatedGroup
from pytest_eos.verdict.anomalies import assert_good_history
from pytest_eos.virtual import VirtualRuntime

_ON_DISK = {"log.flush.interval.messages": "1", "offsets.topic.num.partitions": "1"}
_ROLLED = {"log.roll.ms": "2000", "log.cleaner.backoff.ms": "86400000"}
"""So that a failing disk meets checkpoints; nothing is compacted, since the verdict reads whole topics."""
_WORKERS = {"scheduled.rebalance.max.delay.ms": "0"}
"""The tasks of a lost worker go to others as soon as the group misses it; by default that takes five minutes more."""
PATIENCE = 1800.0
"""Virtual seconds in which everybody has to be at work again once the faults are over."""
_QUIET = 3.0
"""Virtual seconds without a commit after which a run that has faults left to come is taken to be at its end."""
_LONGEST = 300.0
"""Virtual seconds for which faults go on at most."""
_OPERATOR = 60.0
"""Virtual seconds for which an operator asks again."""
_LOOK = 0.5
_SHM = "/dev/shm"  # noqa: S108 - TemporaryDirectory makes a folder of its own in it
_TRANSACTION_LOG_EVERY = 4
"""In one of so many seeds the states of transactions are looked at, too."""


class SlowCalls(CallLog):
    """Has each poll of a source take some virtual seconds."""

    def __init__(self, runtime: Runtime, seconds: float) -> None:
        super().__init__()
        self._runtime, self._seconds = runtime, seconds

    def record_task(self, task: SourceTask) -> SourceTask:
        """A task whose polls take their time."""
        recorded = super().record_task(task)
        poll = recorded.poll

        def slow_poll() -> Any:
            if self._seconds:
                self._runtime.sleep(self._seconds)
            return poll()

        recorded.poll = slow_poll  # type: ignore[method-assign]
        return recorded


class SimulationHarness(EosHarness):
    """The harness of one seed: one connector runs in a group of workers while the faults of the plan happen."""

    def __init__(self, cluster: Cluster, settings: HarnessSettings, plan: FaultPlan, trace: Trace) -> None:
        super().__init__(cluster, "memory", settings)
        self.plan, self.trace = plan, trace
        self.execution: FaultExecution | None = None
        self.group: SimulatedGroup | None = None
        self.refusals: Refusals | None = None
        self._plugins.calls = SlowCalls(self.runtime, plan.poll_seconds)
        self.restarted = 0
        """How many tasks had failed when the faults were over, and were started again by hand."""

    def run(
        self,
        connector: type[SourceConnector] | str,
        properties: Mapping[str, object] | None = None,
        *,
        until: Until = "drained",
        name: str | None = None,
        worker: WorkerGroup | None = None,
    ) -> Run:
        """Run a connector under the faults of the plan; once they are over and it is drained, judge what it wrote.

        The verdict: each source record once and in order for a reader of committed records, committed source offsets
        that say the same, no transaction left open, and no anomaly in the history (`eosfw verify`).
        """
        __tracebackhide__ = True
        if self.group is not None or worker is not None or until != "drained":
            raise pytest.UsageError(f"{self.settings.nodeid}: a simulated test calls `eos.run(CONNECTOR, ...)` once")
        try:
            return self._simulated_run(connector, properties, name)
        except (Exception, pytest.fail.Exception):
            self._raise_refusal()  # it explains whatever has failed because of it
            raise

    # --- what is not simulated

    def worker(self, *_: Any, **__: Any) -> NoReturn:
        """Not simulated: UsageError."""
        self._refuse("worker")

    def distributed(self, *_: Any, **__: Any) -> NoReturn:
        """Not simulated: UsageError."""
        self._refuse("distributed")

    def run_pipeline(self, *_: Any, **__: Any) -> NoReturn:
        """Not simulated: UsageError."""
        self._refuse("run_pipeline")

    def run_query(self, *_: Any, **__: Any) -> NoReturn:
        """Not simulated: UsageError."""
        self._refuse("run_query")

    def _refuse(self, what: str) -> NoReturn:
        raise pytest.UsageError(
            f"{self.settings.nodeid}: eos.{what} is not simulated: workers, their number and their faults are drawn "
            "from the seed; call eos.run, or take the marker away"
        )

    # --- inside

    def _simulated_run(
        self, connector: type[SourceConnector] | str, properties: Mapping[str, object] | None, name: str | None
    ) -> Run:
        __tracebackhide__ = True
        group = self._start_group()
        run = self.create_run(connector, properties, name=name, worker=group)
        if self.plan.settled:
            self.waiter.until(group.all_up, "every worker to run", group.state)
        self.execution = FaultExecution(
            self.plan, group, broker_faults(self.cluster), self.trace, lambda fault, _: self._reconfigure(run, fault)
        )
        self._offer(group, run.name, dict(run.properties))
        self._go_through_faults(self.execution)
        self._quiesce(group, run)
        run.finish()
        self.assert_exactly_once(run, run.source_records(), ordered=True)
        self._check_history(run)
        return run

    def _check_history(self, run: Run) -> None:
        """Look for anomalies that no record shows, such as a zombie that came too late to do harm."""
        __tracebackhide__ = True
        if run.properties.get("eosfw.identity", "headers") == "headers":  # without it nothing tells a record's source
            assert_good_history(
                run,
                self.settings.folder / "history.jsonl",
                # To read it takes a third of the check, and a broker's fault in it shows in many seeds.
                transaction_log=self.plan.seed % _TRANSACTION_LOG_EVERY == 0,
            )

    def _start_group(self) -> SimulatedGroup:
        place = GroupPlace(self.cluster, self.backend_name, self.waiter)
        group = SimulatedGroup(
            self.fresh_group(),
            place,
            self._plugins,
            # A worker may be killed between two of them: no history may have an event that has no author.
            observers=(self.authors, self.history, self.trace),
            properties=_WORKERS,
        )
        self.group = group
        self._undo.enter_context(group)
        self._workers.append(group)
        for worker in "abc"[: self.plan.workers]:
            group.start(worker)
        return group

    def _offer(self, group: SimulatedGroup, name: str, properties: dict[str, str]) -> None:
        def offered() -> bool:
            self._raise_refusal()
            return group.offer(name, properties)

        self.waiter.until(offered, f"a leader that takes connector {name}")

    def _reconfigure(self, run: Run, fault: PlannedFault) -> None:
        """As an operator does, who asks again while no worker leads; nothing for faults of other kinds."""
        if fault.kind not in ("reconfigure", "take-over"):
            return
        group, until = self.group, self.runtime.now() + _OPERATOR
        while group is not None and self.execution is not None and not self.execution.over:
            known = run.name in group.connectors
            if (known and group.offer(run.name, {**run.properties, "tasks.max": fault.detail})) or not known:
                return
            if self.runtime.now() > until:
                return
            self.runtime.sleep(_LOOK)

    def _go_through_faults(self, execution: FaultExecution) -> None:
        """Wait while faults go on, and while records are committed."""
        runtime, began, committed = self.runtime, self.runtime.now(), -1
        quiet_since = began
        while runtime.now() - began < _LONGEST:
            self._raise_refusal()
            if self.history.records != committed or execution.under_way:
                committed, quiet_since = self.history.records, runtime.now()
            elif runtime.now() - quiet_since > _QUIET:
                break
            runtime.sleep(_LOOK)
        execution.end()

    def _quiesce(self, group: SimulatedGroup, run: Run) -> None:
        """Wait until everybody is at work and the sources are at their end; then stop the workers."""
        self.waiter.until(group.all_up, "every worker to run", group.state)
        self._offer(group, run.name, dict(group.connectors[run.name]))

        def drained() -> bool:
            self._raise_refusal()
            self.restarted += group.restart_failed(run.name)
            return group.drained(5.0)

        self.waiter.until(drained, "a drained run after the faults", group.state)
        for worker in list(group.workers):
            group.stop(worker)
        local = self.cluster.local
        if local is not None:
            self.waiter.until(lambda: not local.open_transactions(), "the end of every transaction")

    def _raise_refusal(self) -> None:
        local: object = self.cluster.local
        if isinstance(local, RestartInspection) and local.refusal is not None:
            raise AssertionError(f"the broker did not start again: {local.refusal}")
        if self.refusals is not None and self.refusals.first is not None:
            raise NotSimulatedError(f"{self.refusals.first}: {REFUSED}")


REFUSED = (
    "have it called in `poll` on the task's own thread, or test it with `eos_zombie` on the real clock, "
    '@pytest.mark.eos_clock("real")'
)
"""What to do about a connector that cannot be simulated."""


def broker_faults(cluster: Cluster) -> Any:
    """What makes the broker of a simulated cluster fail."""
    local: object = cluster.local
    if not isinstance(local, FaultInjection):
        raise pytest.UsageError("a simulation needs the embedded broker")
    return local.faults


@contextmanager
def simulated_cluster(plan: FaultPlan, trace: Trace) -> Iterator[Cluster]:
    """An embedded cluster in virtual time whose seed is that of the plan."""
    clock = VirtualRuntime(f"{plan.seed} turns", patience=2 * PATIENCE)
    clock.observe_turns(trace.on_turn)
    with TemporaryDirectory(prefix="eosfw-simulation-", dir=_in_memory()) if plan.on_disk else nullcontext() as folder:
        local = installed_plugins().cluster("memory").start(_broker(plan, folder), clock)
        try:
            yield Cluster(local.bootstrap_servers, local, runtime=clock)
            clock.observe_turns(None)
        finally:
            clock.observe_turns(None)
            local.close()
            clock.close()


def _in_memory() -> str | None:
    """A folder in memory, if there is one: what fsync confirms is simulated, and a real disk takes a tenth longer."""
    return _SHM if os.access(_SHM, os.W_OK | os.X_OK) else None


def _broker(plan: FaultPlan, folder: str | None) -> Mapping[str, str]:
    """The properties of the broker, which is in memory without a folder."""
    disk = {} if folder is None else {**_ON_DISK, "log.dirs": folder, "eosfw.power.cuts": f"{plan.seed} disk"}
    disk |= _ROLLED if plan.disk_fails else {}
    return IN_PROCESS | disk


def simulation_settings(nodeid: str, folder: Path, plan: FaultPlan) -> HarnessSettings:
    """The settings of one seed's harness."""
    return HarnessSettings(nodeid, folder, plan.seed, PATIENCE)
