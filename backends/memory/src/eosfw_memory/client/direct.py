"""Call the handlers of a broker that runs in this very process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

from eosfw.concurrency import Event, Runtime
from eosfw.errors import ClusterUnavailableError, EosfwError
from eosfw_memory.broker import Broker, Context, Handler, ManyHandler
from eosfw_memory.client.apis import Api, Fields
from eosfw_memory.client.channel import Address, ClosedError, NoAnswerError, NotSentError
from eosfw_memory.delayed_operation import Answer, DelayedOperation, DisconnectClientError

_SLICE = 0.25
"""Seconds one wait may take before it is looked whether the cluster is still there."""
_TURN = 100
"""Requests of many that are served before others get their turn."""


@cache
def _door(api: Api) -> tuple[Handler, Context]:
    from eosfw_memory.protocol.routes import ROUTES

    return ROUTES[api.key].handler(), Context(api.max_version, in_process=True)


@cache
def _door_of_many(api: Api) -> tuple[ManyHandler, Context]:
    from eosfw_memory.protocol.routes import ROUTES

    return ROUTES[api.key].handler_of_many(), Context(api.max_version, in_process=True)


class DirectNetwork:
    """The one broker there is, for one client object; both a network and its only channel."""

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
        handler, context = _door(api)
        try:
            answer = broker.serve(handler, request, context)
            if isinstance(answer, DelayedOperation):
                answer = self._awaited(api, answer, deadline)
        except EosfwError:
            raise
        except DisconnectClientError as why:
            raise NoAnswerError(f"{api.name} at {self.servers}: {why}") from why
        except Exception as why:  # on the wire such a mistake would cost the client its connection
            raise self._failed(api, why) from why
        finally:
            broker.settle()
        if answer is None:
            raise NoAnswerError(f"{api.name} at {self.servers}: the broker has no answer")
        return answer

    def call_each(
        self,
        api: Api,
        requests: Sequence[Fields],
        deadline: float,
    ) -> Sequence[Answer | ClusterUnavailableError]:
        if self._broker.interceptor is not None:  # it is put around each request
            return [self._tried(api, request, deadline) for request in requests]
        answers: list[Answer | ClusterUnavailableError] = []
        for first in range(0, len(requests), _TURN):
            some = requests[first : first + _TURN]
            try:
                answers += self._served(api, some)
            except ClusterUnavailableError:  # maybe by the fault of one of them
                answers += [self._tried(api, each, deadline) for each in some]
        return answers

    def _tried(self, api: Api, request: Fields, deadline: float) -> Answer | ClusterUnavailableError:
        try:
            return self.call(api, request, deadline)
        except ClusterUnavailableError as why:
            return why

    def _served(self, api: Api, requests: Sequence[Fields]) -> Sequence[Answer]:
        self._refuse_if_closed(api)
        handler, context = _door_of_many(api)
        try:
            return self._broker.serve_each(handler, requests, context)
        except Exception as why:
            raise self._failed(api, why) from why
        finally:
            self._broker.settle()

    def _failed(self, api: Api, why: Exception) -> NoAnswerError:
        return NoAnswerError(f"{api.name} at {self.servers}: the embedded broker failed: {why!r}")

    def _awaited(self, api: Api, deferred: DelayedOperation, deadline: float) -> Answer:
        until = min(deadline, self._runtime.now() + deferred.timeout_ms / 1000)
        restarts = self._broker.restarts
        self._broker.await_answer(deferred, self._wake)
        try:
            while True:
                # Events are raised for good, so each round has its own, made before the attempt it belongs to.
                event = self._event = self._runtime.event()
                left = until - self._runtime.now()
                answer = self._broker.attempt(deferred, expired=left <= 0)
                if answer is not None:
                    return answer
                self._refuse_if_closed(api)
                if self._broker.restarts != restarts:
                    raise DisconnectClientError("the broker was started anew")
                event.wait(min(left, _SLICE))
        finally:
            self._broker.give_up(deferred)
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
