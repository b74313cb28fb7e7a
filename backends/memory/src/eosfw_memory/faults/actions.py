"""Do to one request what its fault says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, Protocol

from eosfw_memory.codes import Code
from eosfw_memory.delayed_operation import Answer, DelayedOperation, DisconnectClientError
from eosfw_memory.faults.error_responses import refusal
from eosfw_memory.faults.rules import Delay, Drop, Fail, Lose, Repeat, Rule

if TYPE_CHECKING:
    from eosfw_memory.faults.fault_injector import Fault

_EVER: Final = 2**31 - 1

Run = Callable[[], "Answer | DelayedOperation | None"]


class _Board(Protocol):
    def later(self, seconds: float, action: Callable[[], None]) -> None: ...
    def act(self, run: Callable[[], None]) -> None: ...
    def settle(self) -> None: ...
    def stoppable(self, run: Run) -> Answer | DelayedOperation | None: ...


def act(fault: Fault, run: Run, name: str, request: Any, board: _Board) -> Answer | DelayedOperation | None:
    """Serve a request under one fault; `run` serves it as it would be without."""
    return _ACTS[type(fault.rule)](fault, run, name, request, board)


def _delay(fault: Fault, run: Run, name: str, request: Any, board: _Board) -> DelayedOperation | None:  # noqa: ARG001
    late = _Late(run, board)
    seconds = fault.rule.seconds  # type: ignore[union-attr]
    if seconds is None:
        fault.hold(late.arrive)
    else:
        board.later(seconds, late.arrive)
    # Who wants no answer goes on at once.
    return None if getattr(request, "acks", None) == 0 else DelayedOperation(late.attempt, _EVER, (late,))


def _drop(fault: Fault, run: Run, name: str, request: Any, board: _Board) -> DelayedOperation:  # noqa: ARG001
    return _silence(fault, f"{name} was dropped by a fault")


def _lose(fault: Fault, run: Run, name: str, request: Any, board: _Board) -> DelayedOperation:  # noqa: ARG001
    run()
    return _silence(fault, f"the answer to {name} was lost by a fault")


def _repeat(fault: Fault, run: Run, name: str, request: Any, board: _Board) -> Answer | DelayedOperation | None:  # noqa: ARG001
    answer = None
    for _ in range(fault.rule.copies):  # type: ignore[union-attr]
        answer = run()
        fault.answers.append(answer)
        board.settle()
    return answer


def _fail(fault: Fault, run: Run, name: str, request: Any, board: _Board) -> Answer | None:  # noqa: ARG001
    code = Code[fault.rule.code]  # type: ignore[union-attr]
    return None if getattr(request, "acks", None) == 0 else refusal(name, request, code)


_ACTS: Final[Mapping[type[Rule], Callable[..., Answer | DelayedOperation | None]]] = {
    Delay: _delay,
    Drop: _drop,
    Lose: _lose,
    Repeat: _repeat,
    Fail: _fail,
}


def _silence(fault: Fault, why: str) -> DelayedOperation:
    if not fault.rule.silent:  # type: ignore[union-attr]
        raise DisconnectClientError(why)

    def attempt(expired: bool) -> None:  # noqa: FBT001 - as DelayedOperation calls it
        if expired:
            raise DisconnectClientError(why)

    return DelayedOperation(attempt, _EVER, ())


class _Late:
    """A request on its way."""

    def __init__(self, run: Run, board: _Board) -> None:
        self._run = run
        self._board = board
        self._arrived = self._expired = False
        self._answer: Answer | DelayedOperation | None = None
        self._lost: DisconnectClientError | None = None
        self._wakes: set[Callable[[], None]] = set()

    def arrive(self) -> None:
        """Take effect."""
        self._board.act(self._perform)

    def _perform(self) -> None:
        try:
            self._answer = self._board.stoppable(self._run)
        except DisconnectClientError as lost:
            self._lost = lost
        self._arrived = True
        if isinstance(self._answer, DelayedOperation):
            self._answer.subscribe(self._wake)
            self._board.later(self._answer.timeout_ms / 1000, self._expire)
        self._wake()

    def _expire(self) -> None:
        self._expired = True
        self._board.act(self._wake)

    def attempt(self, expired: bool) -> Answer | None:  # noqa: FBT001 - as DelayedOperation calls it
        """The answer once it is there."""
        if self._lost is not None:
            raise self._lost
        if expired and not self._arrived:
            raise DisconnectClientError("nobody waits for the delayed request any more")
        if isinstance(self._answer, DelayedOperation):
            return self._answer.attempt(expired or self._expired)
        return self._answer

    def subscribe(self, wake: Callable[[], None]) -> None:
        self._wakes.add(wake)

    def unsubscribe(self, wake: Callable[[], None]) -> None:
        self._wakes.discard(wake)
        if isinstance(self._answer, DelayedOperation):
            self._answer.cancel()

    def _wake(self) -> None:
        for wake in tuple(self._wakes):
            wake()
