"""Inject faults into one broker: find those that match a request or a point, and make them happen."""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eosfw.concurrency import Runtime, Spawned
from eosfw.errors import ConfigError, DamagedDataError, Problem
from eosfw.test_support import DiskFailure
from eosfw_memory.common.codes import Code, KafkaError
from eosfw_memory.common.delayed_operation import Answer, DelayedOperation, DisconnectClientError
from eosfw_memory.common.interceptors import BrokerStoppedError
from eosfw_memory.common.log_errors import LogError
from eosfw_memory.faults import points
from eosfw_memory.faults.actions import Asked, Serve, apply_fault
from eosfw_memory.faults.fault import Fault
from eosfw_memory.faults.interceptors import Seams
from eosfw_memory.faults.matching import Occurrence
from eosfw_memory.faults.parsing import parse_rule, read_rules
from eosfw_memory.faults.rules import ANY_REQUEST, DiskError, Jump, Kill, PowerCut, Refuse, Restart, Rule, WrongBytes
from eosfw_memory.faults.text import firing_text, rule_text
from eosfw_memory.server.broker.broker import Broker, Context, Handler, Stop
from eosfw_memory.server.protocol.routes import api_name

if TYPE_CHECKING:
    from eosfw_memory.faults.machine import Machine
    from eosfw_memory.storage.files.data_directory import DataDirectory

_LOG = logging.getLogger(__name__)
_NO_OCCURRENCE = Occurrence("")
_STOP_SECONDS = 10.0


class FaultInjector:
    """The faults of one broker.

    Tests call the first group of methods, from any thread. The broker calls the second through its seams, holding its
    lock.
    """

    def __init__(self, broker: Broker, runtime: Runtime, machine: Machine | None = None) -> None:
        """`machine` is the one whose power can be cut."""
        self.broker = broker
        """The broker that serves now: after a power cut it is another one."""
        self._machine = machine
        if machine is not None:
            machine.fault_at = self.reach_disk
        self.disk_failures: list[DiskFailure] = []
        self.refusal: str | None = None
        """Why the broker did not start again; then it serves nobody any more."""
        self._runtime = runtime
        self._without = Seams.of(broker)
        self._within = self._without.intercepted(self._around, self.reach)
        broker.on_restart(self._settle_once_up)
        self._may_kill = False
        self._level = logging.INFO
        self._faults: tuple[Fault, ...] = ()
        self._closed = runtime.event()
        self._later: list[Spawned] = []
        self._occurrence = _NO_OCCURRENCE
        self._jumped = False

    def __iter__(self) -> Iterator[Fault]:
        return iter(self._faults)

    # --- for tests, from any thread

    def add(self, what: Rule | str, **fields: object) -> Fault:
        """Add a fault by its rule, or by the rule's name with its fields; raise ConfigError if there is none."""
        rule = parse_rule(what, fields)
        if isinstance(rule, Kill) and not self._may_kill:
            why = "this broker has no process of its own; use restart, or run `eosfw broker --faults FILE`"
            raise ConfigError(Problem("kill", why))
        if isinstance(rule, PowerCut | DiskError | WrongBytes) and self._machine is None:
            raise ConfigError(Problem(rule.kind, "this broker was not started with eosfw.power.cuts"))
        fault = Fault(rule, self._runtime)
        with self.broker.lock:
            self._faults += (fault,)
            self._within.put_into(self.broker)
        return fault

    def load(self, path: Path) -> None:
        """Add the faults of a file, to a broker that has its own process; ConfigError names file and key."""
        self._may_kill, self._level = True, logging.WARNING
        for rule in read_rules(path):
            self.add(rule)

    def remove(self, fault: Fault) -> None:
        """Remove a fault and deliver the requests that it holds."""
        with self.broker.lock:
            self._faults = tuple(one for one in self._faults if one is not fault)
            if not self._faults:
                self._without.put_into(self.broker)
        fault.release()

    def unfired(self) -> list[Fault]:
        """The faults that never happened: a test that asked for one shows nothing."""
        return [fault for fault in self._faults if not fault.fired]

    def report(self) -> list[str]:
        """The status of each fault: when it fired, for which request."""
        return [str(fault) for fault in self._faults]

    def close(self) -> None:
        """Discard delayed requests, and log the faults that never happened."""
        self._closed.set()
        for waiting in self._later:
            waiting.join(_STOP_SECONDS)
        for fault in self.unfired():
            _LOG.log(self._level, "%s", fault)

    # --- for the broker, under its lock

    def _around(self, handler: Handler) -> Handler:
        """The same handler, with faults applied to its request."""
        return lambda _, request, context: self.serve(handler, request, context)

    def serve(self, handler: Handler, request: Any, context: Context) -> Answer | DelayedOperation | None:
        """Serve a request under the faults that match it."""
        if self.broker.down:
            raise DisconnectClientError("the broker is down")
        name = api_name(handler.__module__)
        occurrence = Occurrence.of(name, request, context)
        run: Serve = partial(self._observed, handler, request, context, occurrence)
        # The fault that was added first is the outermost: what it drops no other one changes.
        for fault in reversed(self._triggered_faults(occurrence, "request", name)):
            run = partial(apply_fault, fault, run, Asked(name, context.version, request), self)
        return self.stoppable(run)

    def stoppable(self, run: Serve) -> Answer | DelayedOperation | None:
        """Run work during which a fault may stop the broker; restart it then, and disconnect the client."""
        broker = self.broker
        try:
            return run()
        except BrokerStoppedError as stopped:
            broker.restart(stopped.down)
            raise DisconnectClientError("the broker stopped") from None

    def reach(
        self,
        point: str,
        *,
        transactional_id: str | None = None,
        topic: str | None = None,
        group_id: str | None = None,
        producer_id: int | None = None,
    ) -> None:
        """Make the faults of this point happen; raise BrokerStoppedError or KafkaError where one says so."""
        if not any(_is_about(fault.rule, "at", point) for fault in self._faults):
            return  # each write comes by here, even where all faults are about requests
        if producer_id is not None:
            known = self.broker.coordinator.transactions()
            transactional_id = next((one.transactional_id for one in known if one.producer_id == producer_id), None)
        for fault in self._triggered_faults(self._occurrence.at(point, transactional_id, topic, group_id), "at", point):
            self._take_effect(fault.rule)

    def reach_disk(self, call: str, name: str) -> str | None:
        """The error with which this call of the disk ends, if a fault says so; an operator comes later."""
        for fault in self._triggered_faults(Occurrence(call), "on", call):
            rule = fault.rule
            assert isinstance(rule, DiskError)
            self.disk_failures.append(DiskFailure(call, rule.code, name, self.broker.waiting_answers()))
            if rule.early:
                self.later(rule.seconds / 2, self._start_again)
            self.later(rule.seconds, self._mend)
            return rule.code
        return None

    def later(self, seconds: float, action: Callable[[], None]) -> None:
        """Run an action after some seconds, unless the broker is closed by then."""

        def wait() -> None:
            if not self._closed.wait(seconds):
                action()

        self._later = [one for one in self._later if one.is_alive()]
        self._later.append(self._runtime.spawn("eosfw-fault", wait))

    def act(self, run: Callable[[], None]) -> None:
        """Run something under the broker's lock that no request asks for at this moment."""
        self.broker.act(run)

    def settle(self) -> None:
        """Write the markers now that the broker would write after its answer."""
        self.broker.settle()

    # --- for the thread of the broker's background tasks

    def run_due_tasks(self) -> None:
        """Run the tasks of the broker that are due."""
        self.broker.run_due_tasks()

    def idle_seconds(self) -> float:
        """How long until the broker has something to do."""
        return self.broker.idle_seconds()

    # --- inside

    def _settle_once_up(self) -> None:
        if self.broker.down:
            self.later(self.broker.seconds_down, self.broker.settle)

    def _observed(
        self, handler: Handler, request: Any, context: Context, occurrence: Occurrence
    ) -> Answer | DelayedOperation | None:
        outside, self._occurrence = self._occurrence, occurrence
        try:
            self.reach(points.before(occurrence.what))
            self._run_tasks_due_by_jump()
            answer = handler(self.broker, request, context)
            self.reach(points.after(occurrence.what))
            self._run_tasks_due_by_jump()
        finally:
            self._occurrence = outside
        return answer

    def _run_tasks_due_by_jump(self) -> None:
        """Run the tasks that became due with a jump of the clock; between two steps of work, never within one."""
        if self._jumped:
            self._jumped = False
            self.broker.run_due_tasks()

    def _triggered_faults(self, occurrence: Occurrence, field: str, name: str) -> list[Fault]:
        due = [fault for fault in self._faults if _is_about(fault.rule, field, name) and fault.due(occurrence)]
        for fault in due:
            fault.trigger(occurrence, self.broker.now_ms())
            _LOG.log(self._level, "fault %s: %s", rule_text(fault.rule), firing_text(fault.firings[-1]))
        return due

    def _take_effect(self, rule: Rule) -> None:
        if isinstance(rule, Restart):
            raise BrokerStoppedError(rule.down)
        if isinstance(rule, PowerCut):
            self._cut_power(rule)
            raise BrokerStoppedError(rule.down)
        if isinstance(rule, WrongBytes):
            self._damage(rule)
            raise BrokerStoppedError(0.0)
        if isinstance(rule, Refuse):
            raise KafkaError(Code[rule.code], "refused by a fault")
        if isinstance(rule, Kill):
            os.kill(os.getpid(), signal.SIGKILL)
        if isinstance(rule, Jump):
            self.broker.jump(rule.seconds)
            self._jumped = True

    def _cut_power(self, rule: PowerCut) -> None:
        """Have another broker serve what the power cut has left of this one's data."""
        halted, machine = self.broker, self._machine
        assert machine is not None
        machine.cut_power(halted)

        def recover() -> tuple[DataDirectory, Stop]:
            cut_short = sum(machine.cut_short() for _ in range(rule.again))
            return machine.start(), Stop(rule.down, power_cut=True, cut_short=cut_short)

        self._serve_anew(halted, recover)

    def _damage(self, rule: WrongBytes) -> None:
        """Have another broker serve what it reads of a damaged directory."""
        halted, machine = self.broker, self._machine
        assert machine is not None

        def recover() -> tuple[DataDirectory, Stop]:
            storage, refused = machine.start_damaged(halted, rule.file, rule.how)
            return storage, Stop(damage_refused=refused)

        self._serve_anew(halted, recover)

    def _mend(self) -> None:
        """What an operator does about a disk that is full or has failed."""
        assert self._machine is not None
        self._machine.make_room()
        self._start_again()

    def _start_again(self) -> None:
        """Kill the broker, and start it on the same machine."""
        machine, halted = self._machine, None
        assert machine is not None
        while halted is not self.broker:  # a power cut may come first
            halted = self.broker
            with halted.lock:
                if halted is self.broker and self.refusal is None:
                    self._serve_anew(halted, partial(_started_again, machine, halted))
                    return

    def _serve_anew(self, halted: Broker, recover: Callable[[], tuple[DataDirectory, Stop]]) -> None:
        """Have another broker serve what is recovered."""
        try:
            storage, stop = recover()
            started = Broker(halted.settings, halted.endpoint, self._runtime, storage)
        except (DamagedDataError, LogError) as why:
            self.refusal = str(why)
            return
        self._without = Seams.of(started)
        self._within = self._without.intercepted(self._around, self.reach)
        with started.lock:
            self._within.put_into(started)
            self.broker = started
            started.take_over(halted, stop)


def _started_again(machine: Machine, broker: Broker) -> tuple[DataDirectory, Stop]:
    return machine.start_again(broker), Stop()


def _is_about(rule: Rule, field: str, name: str) -> bool:
    """Whether a rule is about a request, or a point, of this name."""
    wanted = getattr(rule, field, None)
    return wanted == name or (wanted == ANY_REQUEST and field == "request")
