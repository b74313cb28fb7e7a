"""The states of a producer and its legal calls (KIP-98; the states of the Java client's `TransactionManager`)."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from enum import Enum
from types import TracebackType
from typing import NamedTuple

from eosfw.errors import AbortableError, EosfwError, FatalError, IllegalStateError

__all__ = [
    "TRANSITIONS",
    "ProducerCall",
    "ProducerStateMachine",
    "TransactionManagerState",
    "Transition",
    "state_after_error",
    "transition_for",
]


class TransactionManagerState(Enum):
    """The state of a producer (`TransactionManager.State`); FATAL_ERROR is final."""

    UNINITIALIZED = "uninitialized"
    INITIALIZING = "initializing"
    READY = "ready"
    IN_TRANSACTION = "in transaction"
    COMMITTING = "committing"
    ABORTING = "aborting"
    ABORTABLE_ERROR = "abortable error"
    FATAL_ERROR = "fatal error"
    NOT_TRANSACTIONAL = "not transactional"
    CLOSED = "closed"

    # Looked up with each call of a producer; Enum.__hash__ is written in Python, object.__hash__ in C.
    __hash__ = object.__hash__


class ProducerCall(Enum):
    """A method of a producer; the value is its name."""

    INIT = "init_transactions"
    BEGIN = "begin_transaction"
    SEND = "send"
    SEND_OFFSETS = "send_offsets"
    FLUSH = "flush"
    COMMIT = "commit_transaction"
    ABORT = "abort_transaction"

    __hash__ = object.__hash__


class Transition(NamedTuple):
    """The state while a call runs, then the state once it succeeded."""

    during: TransactionManagerState
    done: TransactionManagerState


_S = TransactionManagerState

TRANSITIONS: Mapping[TransactionManagerState, Mapping[ProducerCall, Transition]] = {
    _S.UNINITIALIZED: {ProducerCall.INIT: Transition(_S.INITIALIZING, _S.READY)},
    _S.INITIALIZING: {},
    _S.READY: {
        ProducerCall.BEGIN: Transition(_S.READY, _S.IN_TRANSACTION),
        ProducerCall.FLUSH: Transition(_S.READY, _S.READY),
    },
    _S.IN_TRANSACTION: {
        ProducerCall.SEND: Transition(_S.IN_TRANSACTION, _S.IN_TRANSACTION),
        ProducerCall.SEND_OFFSETS: Transition(_S.IN_TRANSACTION, _S.IN_TRANSACTION),
        ProducerCall.FLUSH: Transition(_S.IN_TRANSACTION, _S.IN_TRANSACTION),
        ProducerCall.COMMIT: Transition(_S.COMMITTING, _S.READY),
        ProducerCall.ABORT: Transition(_S.ABORTING, _S.READY),
    },
    _S.COMMITTING: {},
    _S.ABORTING: {},
    _S.ABORTABLE_ERROR: {ProducerCall.ABORT: Transition(_S.ABORTING, _S.READY)},
    _S.FATAL_ERROR: {},
    _S.NOT_TRANSACTIONAL: {
        ProducerCall.SEND: Transition(_S.NOT_TRANSACTIONAL, _S.NOT_TRANSACTIONAL),
        ProducerCall.FLUSH: Transition(_S.NOT_TRANSACTIONAL, _S.NOT_TRANSACTIONAL),
    },
    _S.CLOSED: {},
}
"""The legal calls of every state; every other call is illegal."""

_TRANSACTIONAL = frozenset({_S.IN_TRANSACTION, _S.COMMITTING, _S.ABORTING, _S.ABORTABLE_ERROR})


def transition_for(state: TransactionManagerState, call: ProducerCall) -> Transition:
    """The transition of a call; IllegalStateError if the call is illegal in this state."""
    try:
        return TRANSITIONS[state][call]
    except KeyError:
        legal = ", ".join(sorted(one.value for one in TRANSITIONS[state])) or "nothing but close"
        raise IllegalStateError(
            f"{call.value} is illegal while the producer is {state.value}; legal: {legal}"
        ) from None


def state_after_error(
    before: TransactionManagerState, now: TransactionManagerState, error: EosfwError
) -> TransactionManagerState:
    """The state after a failed call; `before` is the state when the call began."""
    if now in (_S.CLOSED, _S.FATAL_ERROR):
        return now
    if isinstance(error, FatalError):
        return _S.FATAL_ERROR
    if isinstance(error, AbortableError) and before in _TRANSACTIONAL:
        return _S.ABORTABLE_ERROR
    return before


class ProducerStateMachine:
    """The state of one producer (the state machine of the Java client's `TransactionManager`).

    `lock` makes each transition atomic among threads.
    """

    def __init__(self, *, transactional: bool, lock: AbstractContextManager[object]) -> None:
        self.state = (
            TransactionManagerState.UNINITIALIZED if transactional else TransactionManagerState.NOT_TRANSACTIONAL
        )
        self.error: EosfwError | None = None
        self._lock = lock

    def during(self, call: ProducerCall) -> AbstractContextManager[None]:
        """A context for one call: it sets the states during and after it; an illegal call changes nothing."""
        return _Running(self, call)

    def enter(self, call: ProducerCall) -> tuple[TransactionManagerState, Transition]:
        """Begin a call; return the state before it and its transition."""
        with self._lock:
            before, target = self.state, self._legal(call)
            self.state = target.during
        return before, target

    def leave(self, target: Transition) -> None:
        """End a call that succeeded; a state that another thread set meanwhile stays."""
        with self._lock:
            if self.state is target.during:
                self.state = target.done

    def check(self, call: ProducerCall) -> None:
        """Raise unless the call is legal now."""
        if call not in TRANSITIONS[self.state]:
            self._legal(call)

    def fail(self, error: EosfwError, before: TransactionManagerState | None = None) -> None:
        """Set the state after an error, of a call or of a delivery in the background."""
        with self._lock:
            target = state_after_error(before or self.state, self.state, error)
            # An error that changes nothing replaces none: it is mostly a consequence of the one before, and tells less.
            if target is not self.state and isinstance(error, (AbortableError, FatalError)):
                self.error = error
            self.state = target

    def close(self) -> None:
        """Refuse every call from now on."""
        with self._lock:
            self.state = TransactionManagerState.CLOSED

    def _legal(self, call: ProducerCall) -> Transition:
        failed = self.state is TransactionManagerState.FATAL_ERROR or (
            self.state is TransactionManagerState.ABORTABLE_ERROR and call is not ProducerCall.ABORT
        )
        if failed and self.error is not None:
            # A new object: one that is raised again would collect the traces of all these calls.
            raise type(self.error)(*self.error.args) from self.error
        return transition_for(self.state, call)


class _Running:
    """The context of one call; a class, since a generator costs more than the rest of a cheap call."""

    __slots__ = ("_before", "_call", "_progress", "_target")

    def __init__(self, progress: ProducerStateMachine, call: ProducerCall) -> None:
        self._progress = progress
        self._call = call

    def __enter__(self) -> None:
        self._before, self._target = self._progress.enter(self._call)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self._progress.leave(self._target)
        elif isinstance(error, EosfwError):
            self._progress.fail(error, self._before)
