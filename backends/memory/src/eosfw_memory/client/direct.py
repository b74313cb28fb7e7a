"""The transport without a network: it calls the handlers of a broker in this process."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from eosfw.concurrency import Event, Runtime
from eosfw.errors import EosfwError
from eosfw_memory.broker import Broker, Context
from eosfw_memory.client.apis import Api, Fields
from eosfw_memory.client.channel import Address, ClosedError, NoAnswerError, NotSentError
from eosfw_memory.delayed_operation import Answer, DelayedOperation, DisconnectClientError
from eosfw_memory.protocol.handlers import handler_of

_SLICE = 0.25
"""Seconds of one wait, after which a call checks whether the cluster still serves."""


@cache
def _context(api: Api) -> Context:
    return Context(api.max_version, in_process=True)


class DirectNetwork:
    """The only broker of an embedded cluster: a network and its single channel in one object."""

    eager = True
    propagation_timeout = 0.0

    def __init__(self, servers: str, broker: Broker, is_open: Callable[[], bool], runtime: Runtime) -> None:
        self.servers = servers
        self._broker = broker
        self._is_open = is_open
        self._runtime = runtime
        self._closed = False
        self._event: Event | None = None

    def any(self, deadline: float) -> DirectNetwork:
        return self

    def at(self, address: Address) -> DirectNetwork:
        return self

    def close(self) -> None:
        self._closed = True
        self._wake()

    def call(self, api: Api, request: Fields, deadline: float) -> Answer:
        self._refuse_if_closed(api)
        broker = self._broker
        handler, context = handler_of(api.key), _context(api)
        try:
            answer = broker.serve(handler, request, context)
            if isinstance(answer, DelayedOperation):
                answer = self._awaited(api, answer, deadline)
        except EosfwError:
            raise
        except DisconnectClientError as why:
            raise NoAnswerError(f"{api.name} at {self.servers}: {why}") from why
        except Exception as why:  # over a socket such a failure closes the connection, so the client sees the same here
            raise self._failed(api, why) from why
        finally:
            broker.settle()
        if answer is None:
            raise NoAnswerError(f"{api.name} at {self.servers}: the broker has no answer")
        return answer

    def _failed(self, api: Api, why: Exception) -> NoAnswerError:
        return NoAnswerError(f"{api.name} at {self.servers}: the embedded broker failed: {why!r}")

    def _awaited(self, api: Api, operation: DelayedOperation, deadline: float) -> Answer:
        until = min(deadline, self._runtime.now() + operation.timeout_ms / 1000)
        restarts = self._broker.restarts
        self._broker.await_answer(operation, self._wake)
        try:
            while True:
                # An event stays set, so each attempt has one of its own. It is made before the attempt, so that a wake
                # between attempt and wait is not lost.
                event = self._event = self._runtime.event()
                left = until - self._runtime.now()
                answer = self._broker.attempt(operation, expired=left <= 0)
                if answer is not None:
                    return answer
                self._refuse_if_closed(api)
                if self._broker.restarts != restarts:
                    raise DisconnectClientError("the broker was started anew")
                event.wait(min(left, _SLICE))
        finally:
            self._broker.give_up(operation)
            self._event = None

    def _wake(self) -> None:
        event = self._event
        if event is not None:
            event.set()

    def _refuse_if_closed(self, api: Api) -> None:
        if self._closed:
            raise ClosedError(f"{api.name} at {self.servers}: this client was closed")
        if not self._is_open():
            raise NotSentError(f"{api.name} at {self.servers}: the embedded cluster was closed")
        if self._broker.down:
            raise NotSentError(f"{api.name} at {self.servers}: the embedded broker is down")
