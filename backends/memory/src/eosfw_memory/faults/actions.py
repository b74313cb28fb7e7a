"""What each kind of fault does to a request."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, Protocol

from eosfw_memory.common.codes import Code
from eosfw_memory.common.delayed_operation import Answer, DelayedOperation, DisconnectClientError, Wakeable
from eosfw_memory.faults.error_responses import error_response
from eosfw_memory.faults.fault import Fault
from eosfw_memory.faults.points import requests
from eosfw_memory.faults.rules import Delay, Drop, Fail, Lose, Repeat, Rule

_FOREVER: Final = 2**31 - 1

Serve = Callable[[], "Answer | DelayedOperation | None"]


class _Injector(Protocol):
    def later(self, seconds: float, action: Callable[[], None]) -> None: ...
    def act(self, run: Callable[[], None]) -> None: ...
    def settle(self) -> None: ...
    def stoppable(self, run: Serve) -> Answer | DelayedOperation | None: ...


class Asked(NamedTuple):
    """A request: its name in Kafka's protocol, its version, its fields."""

    name: str
    version: int
    request: Any

    @property
    def no_answer(self) -> bool:
        """Whether its client asked for no answer (acks=0)."""
        return getattr(self.request, "acks", None) == 0


def apply_fault(fault: Fault, run: Serve, asked: Asked, injector: _Injector) -> Answer | DelayedOperation | None:
    """Serve a request under one fault; `run` serves it without that fault."""
    return _ACTIONS[type(fault.rule)](fault, run, asked, injector)


def _delay(fault: Fault, run: Serve, asked: Asked, injector: _Injector) -> DelayedOperation | None:
    late = _DelayedRequest(run, injector)
    seconds = fault.rule.seconds  # type: ignore[union-attr]
    if seconds is None:
        fault.hold(late.arrive)
    else:
        injector.later(seconds, late.arrive)
    # Nobody is kept waiting who asked for no answer.
    return None if asked.no_answer else DelayedOperation(late.attempt, _FOREVER, (late,))


def _drop(fault: Fault, run: Serve, asked: Asked, injector: _Injector) -> DelayedOperation:  # noqa: ARG001
    return _no_response(fault, f"{asked.name} was dropped by a fault")


def _lose(fault: Fault, run: Serve, asked: Asked, injector: _Injector) -> DelayedOperation:  # noqa: ARG001
    run()
    return _no_response(fault, f"the answer to {asked.name} was lost by a fault")


def _repeat(fault: Fault, run: Serve, asked: Asked, injector: _Injector) -> Answer | DelayedOperation | None:  # noqa: ARG001
    answer = None
    for _ in range(fault.rule.copies):  # type: ignore[union-attr]
        answer = run()
        fault.answers.append(answer)
        injector.settle()
    return answer


def _fail(fault: Fault, run: Serve, asked: Asked, injector: _Injector) -> Answer | None:  # noqa: ARG001
    code = Code[fault.rule.code]  # type: ignore[union-attr]
    return None if asked.no_answer else error_response(requests()[asked.name], asked.version, asked.request, code)


_ACTIONS: Final[Mapping[type[Rule], Callable[..., Answer | DelayedOperation | None]]] = {
    Delay: _delay,
    Drop: _drop,
    Lose: _lose,
    Repeat: _repeat,
    Fail: _fail,
}


def _no_response(fault: Fault, why: str) -> DelayedOperation:
    if not fault.rule.silent:  # type: ignore[union-attr]
        raise DisconnectClientError(why)

    def attempt(expired: bool) -> None:  # noqa: FBT001 - as DelayedOperation calls it
        if expired:
            raise DisconnectClientError(why)

    return DelayedOperation(attempt, _FOREVER, ())


class _DelayedRequest(Wakeable):
    """A request that reaches the broker later than it was sent."""

    def __init__(self, run: Serve, injector: _Injector) -> None:
        super().__init__()
        self._run = run
        self._injector = injector
        self._arrived = self._expired = False
        self._answer: Answer | DelayedOperation | None = None
        self._lost: DisconnectClientError | None = None

    def arrive(self) -> None:
        """Serve the request now, and give the answer to the client if it still waits."""
        self._injector.act(self._perform)

    def _perform(self) -> None:
        try:
            self._answer = self._injector.stoppable(self._run)
        except DisconnectClientError as lost:
            self._lost = lost
        self._arrived = True
        if isinstance(self._answer, DelayedOperation):
            self._answer.subscribe(self.changed)
            self._injector.later(self._answer.timeout_ms / 1000, self._expire)
        self.changed()

    def _expire(self) -> None:
        self._expired = True
        self._injector.act(self.changed)

    def attempt(self, expired: bool) -> Answer | None:  # noqa: FBT001 - as DelayedOperation calls it
        """The answer, once the request has arrived and was served."""
        if self._lost is not None:
            raise self._lost
        if expired and not self._arrived:
            raise DisconnectClientError("nobody waits for the delayed request any more")
        if isinstance(self._answer, DelayedOperation):
            return self._answer.attempt(expired or self._expired)
        return self._answer

    def unsubscribe(self, wake: Callable[[], None]) -> None:
        super().unsubscribe(wake)
        if isinstance(self._answer, DelayedOperation):
            self._answer.cancel()
