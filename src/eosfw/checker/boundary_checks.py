"""Whether transactions end where `transaction.boundary` says: after a poll, at an interval, as the connector asks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from eosfw.checker.anomaly import Anomaly, Check, anomaly
from eosfw.checker.facts import Facts
from eosfw.checker.operation import INVOKE, NONE, Operation

POLL: Final = "poll"
INTERVAL: Final = "interval"
CONNECTOR: Final = "connector"


@dataclass(slots=True)
class _Task:
    """One start of a task."""

    start: Operation
    poll: Operation | None = None
    """Its newest poll."""
    used: Operation | None = None
    """The begin of a transaction with records of that poll."""
    open: Operation | None = None
    """The begin of the transaction that is open."""
    overdue: Operation | None = None
    """A poll at which the interval of the open transaction was over: it has to end right after that."""
    asked: Operation | None = None
    """The request to end the open transaction after the newest poll."""
    requests: int = 0
    commits: int = 0

    def step(self, step: Operation) -> Iterator[Anomaly]:
        """Take note of the next step, and find what is wrong with it."""
        match step.op:
            case "source-poll":
                yield from self._polls(step)
            case "begin":
                yield from self._begins(step)
            case "request":
                self.requests += 1
                self.asked = step if step.src_off == NONE and not step.src_part else self.asked
            case "commit":
                yield from self._commits(step)
            case _:
                self.open = None

    def _polls(self, step: Operation) -> Iterator[Anomaly]:
        begun, due = self.open, self._due(step)
        if begun is not None and due is not None:
            what = f"transaction {begun.txn} of {begun.tid} is open while {step.proc} polls again"
            yield anomaly("boundary-violation", what, [due, begun, step])
            self.open = begun = None
        if begun is not None and self.start.val == INTERVAL and step.t >= begun.t + self.start.count / 1000:
            self.overdue = self.overdue or step
        else:
            self.overdue = None
        if self.poll is not None:  # a request from before the first poll is about what that returns
            self.asked = None
        self.poll, self.used = step, None

    def _due(self, step: Operation) -> Operation | None:
        """Why the open transaction had to end before this poll, if it had to."""
        return {POLL: self.poll or step, INTERVAL: self.overdue, CONNECTOR: self.poll and self.asked}[self.start.val]

    def _begins(self, step: Operation) -> Iterator[Anomaly]:
        if self.used is not None and self.start.val != CONNECTOR:
            what = f"transactions {self.used.txn} and {step.txn} of {step.tid} are both of one poll"
            yield anomaly("boundary-violation", what, [self.poll, self.used, step])
        self.open = self.used = step

    def _commits(self, step: Operation) -> Iterator[Anomaly]:
        self.commits += 1
        if self.start.val == CONNECTOR and self.commits > self.requests:
            what = f"transaction {step.txn} of {step.tid} is committed, and its connector did not ask to end it"
            yield anomaly("boundary-violation", what, [self.start, step])


def boundary_violations(facts: Facts) -> Iterator[Anomaly]:
    """A transaction is open after the place where it has to end, ends elsewhere, or divides one poll."""
    tasks = {start.proc: _Task(start) for start in facts.of("start") if start.val in (POLL, INTERVAL, CONNECTOR)}
    steps = [
        *(step for op in ("source-poll", "begin", "offset", "request") for step in facts.of(op)),
        *facts.of("abort", INVOKE),
        *facts.of("commit", INVOKE),
    ]
    for step in sorted(steps, key=lambda each: each.i):
        if step.proc in tasks:
            yield from tasks[step.proc].step(step)
    yield from _passed_requests(facts)


def _passed_requests(facts: Facts) -> Iterator[Anomaly]:
    """A transaction goes on behind a record after which its connector asked to end it."""
    asked = {
        (request.proc, request.src_part, request.src_off): request
        for request in facts.of("request")
        if request.src_off != NONE
    }
    for transaction in facts.transactions.values() if asked else ():
        last: dict[str, Operation] = {}
        for send in transaction.sends:
            if send.src_off >= last.get(send.src_part, send).src_off:
                last[send.src_part] = send
        for send in transaction.sends:
            request, end = asked.get((send.proc, send.src_part, send.src_off)), last.get(send.src_part, send)
            if request is not None and send.src_off < end.src_off:
                what = f"transaction {send.txn} of {send.tid} goes on behind record {send.src_off} of {send.src_part}"
                yield anomaly("boundary-violation", f"{what}, where it was to end", [request, send, end])


CHECKS = (Check(("boundary-violation",), ("source-poll", "begin", "start.val"), boundary_violations),)
