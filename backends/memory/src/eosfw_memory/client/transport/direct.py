"""The transport without a network: it calls the handlers of a broker in this process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import NoReturn

from eosfw.concurrency import Event, Runtime
from eosfw.errors import EosfwError
from eosfw.security import Address
from eosfw_memory.client.transport.apis import Api, Fields
from eosfw_memory.client.transport.channel import ClosedError, InFlightRequest, NoAnswerError, NotSentError
from eosfw_memory.common.delayed_operation import EXTENSION_MS, Answer, DelayedOperation, DisconnectClientError
from eosfw_memory.server.broker.broker import Broker, Context
from eosfw_memory.server.protocol.handlers import handler_of

_SLICE = 0.25
"""Seconds of one wait, after which a call checks whether the cluster still serves."""
_HERE = "/127.0.0.1"


@cache
def _context(api: Api, client_id: str) -> Context:
    return Context(api.max_version, client_id, _HERE, in_process=True)


@dataclass(slots=True, eq=False)
class _Pending:
    """A delayed answer of a broker, which after a restart does not know what it was asked before."""

    operation: DelayedOperation
    broker: Broker
    restarts: int
    expires: float
    event: Event | None = None
    """That of the attempt which waits, if one does: each has its own, since several threads may wait for answers."""

    def wake(self) -> None:
        """Have another attempt made, on the thread that waits."""
        event = self.event
        if event is not None:
            event.set()


class DirectNetwork:
    """The only broker of an embedded cluster: a network and its single channel in one object.

    As over a socket, a client goes on with the broker that is started next at the address of one that was closed.
    """

    eager = True
    propagation_timeout = 0.0

    def __init__(
        self, servers: str, serving: Callable[[], Broker | None], runtime: Runtime, client_id: str = ""
    ) -> None:
        self.servers = servers
        self._client_id = client_id
        self._serving = serving
        self._runtime = runtime
        self._closed = False
        self._waiting: set[_Pending] = set()

    def any(self, deadline: float) -> DirectNetwork:
        return self

    def at(self, address: Address) -> DirectNetwork:
        return self

    def close(self) -> None:
        self._closed = True
        for each in tuple(self._waiting):
            each.wake()

    def call(self, api: Api, request: Fields, deadline: float) -> Answer:
        broker = self._open_broker(api)
        try:
            answer = broker.serve(handler_of(api.key), request, _context(api, self._client_id))
            if isinstance(answer, DelayedOperation):
                answer = self._awaited(api, broker, answer, deadline)
        except Exception as why:  # noqa: BLE001 - translated
            self._fail(api, why)
        finally:
            broker.settle()
        return self._answered(api, answer)

    def send(self, api: Api, request: Fields, deadline: float) -> InFlightRequest:
        broker = self._open_broker(api)
        try:
            answer = broker.serve(handler_of(api.key), request, _context(api, self._client_id))
        except Exception as why:  # noqa: BLE001 - translated
            self._fail(api, why)
        finally:
            broker.settle()
        if not isinstance(answer, DelayedOperation):
            return InFlightRequest(lambda _: self._answered(api, answer), lambda: None)
        pending = self._await(broker, answer)

        def wait(deadline: float) -> Answer | None:
            try:
                return self._attempts(api, pending, deadline)
            except Exception as why:  # noqa: BLE001 - translated
                self._fail(api, why)

        return InFlightRequest(wait, lambda: broker.give_up(pending.operation))

    def _await(self, broker: Broker, operation: DelayedOperation) -> _Pending:
        expires = self._runtime.now() + operation.timeout_ms / 1000
        pending = _Pending(operation, broker, broker.restarts, expires)
        broker.await_answer(operation, pending.wake)
        return pending

    def _awaited(self, api: Api, broker: Broker, operation: DelayedOperation, deadline: float) -> Answer | None:
        pending = self._await(broker, operation)
        pending.expires = min(deadline, pending.expires)
        try:
            return self._attempts(api, pending, deadline)
        finally:
            broker.give_up(operation)

    def _attempts(self, api: Api, pending: _Pending, deadline: float) -> Answer | None:
        """Attempt a delayed answer until a deadline, or until it expires."""
        broker = pending.broker
        self._waiting.add(pending)
        try:
            while True:
                # An event stays set, so each attempt has one of its own. It is made before the attempt, so that a wake
                # between attempt and wait is not lost.
                event = pending.event = self._runtime.event()
                now = self._runtime.now()
                expired = now >= pending.expires
                answer = broker.attempt(pending.operation, expired=expired)
                if answer is not None:
                    return answer
                if expired:
                    pending.expires = now + EXTENSION_MS / 1000
                self._refuse_if_closed(api)
                if self._serving() is not broker or broker.down or broker.restarts != pending.restarts:
                    raise DisconnectClientError("the broker was stopped")
                if now >= deadline:
                    return None
                event.wait(min(deadline - now, _SLICE))
        finally:
            pending.event = None
            self._waiting.discard(pending)

    def _answered(self, api: Api, answer: Answer | None) -> Answer:
        if answer is None:
            raise NoAnswerError(f"{api.name} at {self.servers}: the broker has no answer")
        return answer

    def _fail(self, api: Api, why: Exception) -> NoReturn:
        if isinstance(why, EosfwError):
            raise why
        if isinstance(why, DisconnectClientError):
            raise NoAnswerError(f"{api.name} at {self.servers}: {why}") from why
        # Over a socket such a failure closes the connection, so the client sees the same here.
        raise NoAnswerError(f"{api.name} at {self.servers}: the embedded broker failed: {why!r}") from why

    def _open_broker(self, api: Api) -> Broker:
        self._refuse_if_closed(api)
        broker = self._serving()
        if broker is None:
            raise NotSentError(f"{api.name} at {self.servers}: the embedded cluster was closed")
        if broker.down:
            raise NotSentError(f"{api.name} at {self.servers}: the embedded broker is down")
        return broker

    def _refuse_if_closed(self, api: Api) -> None:
        if self._closed:
            raise ClosedError(f"{api.name} at {self.servers}: this client was closed")
