"""Keep the faults of one broker; count what comes by; let them strike."""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from eosfw.concurrency import Runtime, Spawned
from eosfw.errors import ConfigError, Problem
from eosfw_memory.broker import Broker, Context, Handler
from eosfw_memory.codes import Code, KafkaError
from eosfw_memory.delayed_operation import Answer, DelayedOperation, DisconnectClientError
from eosfw_memory.faults import points
from eosfw_memory.faults.actions import Serve, apply_fault
from eosfw_memory.faults.fault import Fault
from eosfw_memory.faults.interceptors import Seams
from eosfw_memory.faults.matching import Occurrence
from eosfw_memory.faults.parsing import parse_rule
from eosfw_memory.faults.rules import Jump, Kill, Refuse, Restart, Rule
from eosfw_memory.faults.text import firing_text, rule_text
from eosfw_memory.faults.toml_file import read_rules
from eosfw_memory.interceptors import BrokerStoppedError
from eosfw_memory.protocol.routes import api_name

_LOG = logging.getLogger(__name__)
_NO_OCCURRENCE = Occurrence("")
_STOP_SECONDS = 10.0


class FaultInjector:
    """The faults of one broker. Everything but `add`, `report` and `close` is called by the broker, under its lock."""

    def __init__(self, broker: Broker, runtime: Runtime) -> None:
        self._broker = broker
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

    # --- for whoever asks for faults; any thread

    def add(self, what: Rule | str, **fields: object) -> Fault:
        """Have something go wrong: a rule, or its name with its fields; ConfigError when there is no such thing."""
        rule = parse_rule(what, fields)
        if isinstance(rule, Kill) and not self._may_kill:
            why = "this broker has no process of its own; use restart, or run `eosfw broker --faults FILE`"
            raise ConfigError(Problem("kill", why))
        fault = Fault(rule, self._runtime)
        with self._broker.lock:
            self._faults += (fault,)
            self._within.put_into(self._broker)
        return fault

    def load(self, path: Path) -> None:
        """Add the faults of a file, for a broker with a process of its own; ConfigError names file and key."""
        self._may_kill, self._level = True, logging.WARNING
        for rule in read_rules(path):
            self.add(rule)

    def remove(self, fault: Fault) -> None:
        """Let a fault strike no more; what it holds up goes on."""
        with self._broker.lock:
            self._faults = tuple(one for one in self._faults if one is not fault)
            if not self._faults:
                self._without.put_into(self._broker)
        fault.release()

    def unfired(self) -> list[Fault]:
        """Those that never struck: a test that asked for them shows nothing."""
        return [fault for fault in self._faults if not fault.fired]

    def report(self) -> list[str]:
        """Of every fault, whether it struck: when, whom."""
        return [str(fault) for fault in self._faults]

    def close(self) -> None:
        """Wait for nothing any more: what is under way never arrives, what did not strike will not."""
        self._closed.set()
        for waiting in self._later:
            waiting.join(_STOP_SECONDS)
        for fault in self.unfired():
            _LOG.log(self._level, "%s", fault)

    # --- for the broker

    def _around(self, handler: Handler) -> Handler:
        """A handler that serves the way the faults want it."""
        return lambda _, request, context: self.serve(handler, request, context)

    def serve(self, handler: Handler, request: Any, context: Context) -> Answer | DelayedOperation | None:
        """Serve a request the way the faults want it."""
        if self._broker.down:
            raise DisconnectClientError("the broker is down")
        name = api_name(handler.__module__)
        occurrence = Occurrence.of(name, request, context)
        run: Serve = partial(self._observed, handler, request, context, occurrence)
        for fault in reversed(self._triggered_faults(occurrence, "request", name)):
            run = partial(apply_fault, fault, run, name, request, self)
        return self.stoppable(run)

    def stoppable(self, run: Serve) -> Answer | DelayedOperation | None:
        """Do something in whose midst the broker may stop."""
        try:
            return run()
        except BrokerStoppedError as stopped:
            self._broker.restart(stopped.down)
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
        """Be at a point: may raise StoppedError, or KafkaError for a write that is refused."""
        if producer_id is not None:
            known = self._broker.coordinator.transactions()
            transactional_id = next((one.transactional_id for one in known if one.producer_id == producer_id), None)
        for fault in self._triggered_faults(self._occurrence.at(point, transactional_id, topic, group_id), "at", point):
            self._take_effect(fault.rule)

    def later(self, seconds: float, action: Callable[[], None]) -> None:
        """Do something in a while, unless the broker is closed by then."""

        def wait() -> None:
            if not self._closed.wait(seconds):
                action()

        self._later = [one for one in self._later if one.is_alive()]
        self._later.append(self._runtime.spawn("eosfw-fault", wait))

    def act(self, run: Callable[[], None]) -> None:
        """Do something at a moment of nobody's asking, as if it were a request."""
        self._broker.act(run)

    def settle(self) -> None:
        """Let the markers be written now that would be written behind the answer."""
        self._broker.settle()

    # --- inside

    def _settle_once_up(self) -> None:
        if self._broker.down:
            self.later(self._broker.seconds_down, self._broker.settle)

    def _observed(
        self, handler: Handler, request: Any, context: Context, occurrence: Occurrence
    ) -> Answer | DelayedOperation | None:
        outside, self._occurrence = self._occurrence, occurrence
        try:
            self.reach(points.before(occurrence.what))
            self._run_out()
            answer = handler(self._broker, request, context)
            self.reach(points.after(occurrence.what))
            self._run_out()
        finally:
            self._occurrence = outside
        return answer

    def _run_out(self) -> None:
        """Between two steps of the broker's work, never within one: see what ran out with a jump of the clock."""
        if self._jumped:
            self._jumped = False
            self._broker.run_due_tasks()

    def _triggered_faults(self, occurrence: Occurrence, field: str, name: str) -> list[Fault]:
        due = [fault for fault in self._faults if getattr(fault.rule, field, None) == name and fault.due(occurrence)]
        for fault in due:
            fault.trigger(occurrence, self._broker.now_ms())
            _LOG.log(self._level, "fault %s: %s", rule_text(fault.rule), firing_text(fault.firings[-1]))
        return due

    def _take_effect(self, rule: Rule) -> None:
        if isinstance(rule, Restart):
            raise BrokerStoppedError(rule.down)
        if isinstance(rule, Refuse):
            raise KafkaError(Code[rule.code], "refused by a fault")
        if isinstance(rule, Kill):
            os.kill(os.getpid(), signal.SIGKILL)
        if isinstance(rule, Jump):
            self._broker.jump(rule.seconds)
            self._jumped = True
