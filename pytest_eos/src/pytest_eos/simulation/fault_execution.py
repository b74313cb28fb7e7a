"""Make the faults of a plan happen to the workers and the broker of one run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Protocol

from eosfw.test_support import Faults
from pytest_eos.simulation.fault_plan import EARLY, SILENT, FaultPlan, PlannedFault
from pytest_eos.simulation.trace import Trace
from pytest_eos.simulation.workers import SimulatedWorker
from pytest_eos.virtual import VirtualRuntime

_ALWAYS = 2**31 - 1
_ON_REQUEST = ("delay", "drop", "lose", "repeat")
_BROKER_STOPS = {
    "broker-restart": "restart",
    "power-cut": "power-cut",
    "recovery-cut": "power-cut",
    "wrong-bytes": "wrong-bytes",
}
"""The broker's rule for each kind that stops it."""
_DISK_CODES = {"disk-error": "EIO", "disk-full": "ENOSPC"}
"""The error of the broker's disk for each kind of it."""


class Struck(Protocol):
    """What faults happen to: processes on one virtual clock."""

    @property
    def runtime(self) -> VirtualRuntime:
        """The clock of all of them."""

    @property
    def simulated(self) -> Mapping[str, SimulatedWorker]:
        """The processes over all of their starts, by name."""


class FaultExecution:
    """The faults of one run, from when they are armed until they are over."""

    def __init__(
        self,
        plan: FaultPlan,
        group: Struck,
        broker: Faults,
        trace: Trace,
        beside: Callable[[PlannedFault, SimulatedWorker], None],
    ) -> None:
        """`beside` does what else belongs to a fault, on a greenlet of its own."""
        self._runtime = group.runtime
        self._group, self._broker, self._trace = group, broker, trace
        self._beside = beside
        self._rules: dict[int, Any] = {}
        self._partitions: list[Any] = []
        self._struck: set[int] = set()
        self._due: dict[tuple[str, int], list[Callable[[SimulatedWorker], None]]] = {}
        """What is to happen before the nth of a step, whichever worker comes to it."""
        self._steps: Counter[str] = Counter()
        self.under_way = 0
        """How many faults that last a while are not over yet."""
        self.over = False
        self._arm(plan.active)

    def fired(self) -> set[int]:
        """The numbers of the faults that have happened."""
        return self._struck | {number for number, rule in self._rules.items() if rule.fired}

    def end(self) -> None:
        """Let no fault happen any more, and end what lasts: everybody goes on, every network works."""
        self.over = True
        for rule in (*self._rules.values(), *self._partitions):
            rule.release()
        for worker in self._group.simulated.values():
            worker.strikes.clear()
            worker.on_step = None
            worker.cut = None
            worker.set_clock(0.0)
            if worker.process is not None:
                worker.process.at_point(_ALWAYS, lambda: None)
                worker.process.resume()

    # --- inside

    def _arm(self, faults: Mapping[int, PlannedFault]) -> None:
        strikes: list[tuple[int, int, PlannedFault]] = []
        for number, fault in faults.items():
            if fault.kind in _ON_REQUEST:
                self._rules[number] = self._broker.add(fault.kind, request=fault.target, **_fields(fault))
            elif fault.kind in _DISK_CODES:
                self._rules[number] = self._broker.add("disk-error", on=fault.target, **_fields(fault))
            elif fault.kind in _BROKER_STOPS:
                self._rules[number] = self._broker.add(_BROKER_STOPS[fault.kind], at=fault.target, **_fields(fault))
            else:
                strikes.append((fault.nth, number, fault))
        for _, number, fault in sorted(strikes, key=lambda each: each[:2]):
            strike = self._strike(number, fault)
            if fault.step:
                self._due.setdefault((fault.step, fault.nth), []).append(strike)
            else:
                worker = self._group.simulated[fault.target]
                worker.strikes.append((fault.nth, partial(strike, worker)))
        for worker in self._group.simulated.values():
            worker.points = 0 if worker.process is None else -worker.process.points  # counted from now on
            worker.arm()
            if self._due:
                worker.on_step = self._on_step
            if any(fault.kind == "partition" for fault in faults.values()):
                self._prepare_partition(worker)

    def _on_step(self, worker: SimulatedWorker, step: str) -> bool:
        """Strike whoever comes to a step as the nth; a worker that is struck stops before the step."""
        self._steps[step] += 1
        due = self._due.get((step, self._steps[step]), ())
        for strike in due:
            strike(worker)
        return bool(due)

    def _prepare_partition(self, worker: SimulatedWorker) -> None:
        """Rules of the broker that lose this worker's requests, or the answers to them, while it is cut off."""

        def of_worker(*cuts: str) -> Callable[[], bool]:
            return lambda: worker.cut in cuts and worker.process is not None and worker.process.is_running_now()

        add = self._broker.add
        self._partitions += [
            add("drop", request="any", times=_ALWAYS, silent=True, only=of_worker("requests", "both")),
            add("lose", request="any", times=_ALWAYS, silent=True, only=of_worker("answers")),
        ]

    def _strike(self, number: int, fault: PlannedFault) -> Callable[[SimulatedWorker], None]:
        """What a yield point calls on the greenlet that passes it: it must not wait, so the rest is done elsewhere."""
        struck = self._runtime.event()
        ends: list[tuple[SimulatedWorker, Callable[[], None]]] = []

        def strike(worker: SimulatedWorker) -> None:
            if self.over:
                return
            self._struck.add(number)
            self._trace.on_fault(number, self._runtime.now())
            self.under_way += 1
            ends.append((worker, _begin(fault, worker)))
            struck.raise_flag()

        def follow() -> None:
            struck.wait()
            for worker, _ in ends:
                self._beside(fault, worker)
            self._runtime.sleep(fault.seconds)
            for _, end in ends:
                end()
            self.under_way -= 1

        self._runtime.spawn(f"fault {number}", follow)
        return strike


def _begin(fault: PlannedFault, worker: SimulatedWorker) -> Callable[[], None]:
    """Let a fault begin to happen to a worker; return what ends it."""
    process = worker.process
    if fault.kind in ("pause", "take-over") and process is not None:
        process.suspend()
        return process.resume
    if fault.kind == "partition":
        worker.cut = fault.detail
        return partial(setattr, worker, "cut", None)
    if fault.kind == "clock":
        worker.set_clock(float(fault.detail))
        return partial(worker.set_clock, 0.0)
    if fault.kind == "crash":
        worker.kill(fault.seconds)
    return lambda: None


def _fields(fault: PlannedFault) -> dict[str, Any]:
    """The fields of the broker's rule."""
    fields: dict[str, Any] = {"nth": fault.nth}
    if fault.kind == "delay":
        fields["seconds"] = fault.seconds
    elif fault.kind in ("drop", "lose"):
        fields["silent"] = fault.detail == SILENT
    elif fault.kind in _DISK_CODES:
        fields |= {"code": _DISK_CODES[fault.kind], "seconds": fault.seconds, "early": fault.detail == EARLY}
    elif fault.kind == "wrong-bytes":
        fields["file"], fields["how"] = fault.detail.split(": ")
    elif fault.kind in _BROKER_STOPS:
        fields["down"] = fault.seconds
        fields |= {"again": int(fault.detail)} if fault.kind == "recovery-cut" else {}
    return fields
