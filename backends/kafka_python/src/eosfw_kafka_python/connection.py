"""Reach a cluster within a deadline, through kafka-python's protocol layer."""
# ruff: noqa: SLF001 - the library offers its protocol layer behind one underscore: `client._manager`.

from __future__ import annotations

import logging
import socket
import weakref
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, ClassVar, Final

from kafka import KafkaConsumer
from kafka import errors as kafka_errors
from kafka.net.compat import KafkaNetClient
from kafka.net.inet import KafkaNetSocket
from kafka.net.sasl.oauth import AbstractTokenProvider

from eosfw.concurrency import Runtime
from eosfw.config.security import OAuthBearerSettings
from eosfw.errors import (
    ClusterUnavailableError,
    ConfigError,
    EosfwError,
    FatalError,
    IllegalStateError,
    IndefiniteOutcomeError,
    Problem,
)
from eosfw.retry_timer import RetryTimer
from eosfw.security import FirstAuthentication, TokenProvider, with_refusal

LOG = logging.getLogger("kafka")
if LOG.level == logging.NOTSET and not LOG.isEnabledFor(logging.INFO):
    # Every error that matters is raised by a call or retried; the library's warnings would show it a second time.
    LOG.setLevel(logging.CRITICAL + 1)

_LONGEST_WAIT = 0.2
"""Seconds that one wait may last: close() on another thread is noticed between two waits."""
_PAUSE = 0.01
_TOKEN_WAIT = 2.0
"""Seconds for a token endpoint; while the library waits for a token, no connection of the client is served."""
_STOPPING = 1.0
_MANY = 1_000
"""Requests that may be under way on one connection; above its limit the library refuses a request, it does not wait."""
Request = Any
Response = Any
DIRECT: Final = "eosfw://direct"
"""The library chooses a socket class by the scheme of the proxy's URL; with this scheme there is no proxy."""


class ClosingSocket(KafkaNetSocket):  # type: ignore[misc]
    """Closes the socket of a failed connection, which the library leaves to the garbage collector.

    The library registers every subclass by its schemes.
    """

    SCHEMES: ClassVar[tuple[str, ...]] = ("eosfw",)

    async def sock_connect(self, net: Any, sock: socket.socket, sockaddr: Any, timeout_at: float | None = None) -> Any:
        """Connect; close the socket if that fails."""
        try:
            return await super().sock_connect(net, sock, sockaddr, timeout_at=timeout_at)
        except BaseException:
            sock.close()
            raise


class ClosingClient(KafkaNetClient):  # type: ignore[misc]
    """Closes connections with unsent requests too, which the library leaves to the garbage collector.

    It means to close them once all is sent, but then its event loop has ended.
    """

    def close(self, node_id: int | str | None = None) -> None:
        """Close a connection once its requests are sent, or, without a node, all of them at once."""
        if node_id is None:
            self._net.stop()  # a connection that its thread opens meanwhile would be missed
            self._manager.close()
            for connection in list(self._manager._conns.values()):
                if connection.transport is not None:
                    connection.transport._close()
        super().close(node_id)


class TokenAdapter(AbstractTokenProvider):  # type: ignore[misc]
    """Gives the library the tokens of a backend; it asks on the thread of its event loop, at each new connection."""

    def __init__(self, tokens: TokenProvider, settings: OAuthBearerSettings) -> None:
        super().__init__()
        self._tokens = tokens
        self._extensions = dict(settings.extensions)

    def token(self) -> str:
        """A token that is still good."""
        return self._tokens.token(_TOKEN_WAIT)

    def extensions(self) -> dict[str, str]:
        """What the broker is told beside the token."""
        return self._extensions


class ClosedError(FatalError):
    """Another thread closed the client while this call waited."""


class Connection:
    """One network client of a cluster, made by the first request; several threads may use it."""

    def __init__(
        self, config: Mapping[str, Any], servers: str, runtime: Runtime, authentication: FirstAuthentication
    ) -> None:
        self.servers = servers
        self.runtime = runtime
        self.authentication = authentication
        self._config = {**config, "proxy_url": DIRECT}
        if (tokens := authentication.tokens) is not None:
            self._config["sasl_oauth_token_provider"] = TokenAdapter(tokens, authentication.settings.oauthbearer)
        self._client: KafkaNetClient | None = None
        self._closed = False

    def client(self, deadline: float, **more: Any) -> KafkaNetClient:
        """A network client that has reached its cluster; its event loop does not run yet."""
        self.authentication.require()
        try:
            client = ClosingClient(**{**more, **self._config})
        except (ValueError, kafka_errors.KafkaError) as why:
            raise ConfigError(Problem("the kafka-python backend", str(why))) from why
        # The library (3.0.12) hands this property on to nobody, so that whoever looks for a topic would create it.
        client.cluster.config["allow_auto_create_topics"] = self._config.get("allow_auto_create_topics", False)
        try:
            self._bootstrap(client, deadline)
        except BaseException:
            client.close()
            raise
        return client

    def consumer(self, deadline: float) -> KafkaConsumer:
        """A consumer that has reached the cluster by the deadline."""
        config = {name: each for name, each in self._config.items() if name in KafkaConsumer.DEFAULT_CONFIG}
        return KafkaConsumer(**config, kafka_client=partial(self.client, deadline))

    def send_request(
        self, request: Callable[[], Request], deadline: float, node: int | str | None = None, *, once: bool = False
    ) -> Response:
        """Send a request until it is answered; ClusterUnavailableError at the deadline.

        Without a node any broker is asked. What may be done `once` only is not repeated when its answer is lost.
        """
        manager, timer = self._manager(deadline), RetryTimer(self.runtime, deadline, pause=_PAUSE)
        while True:
            asked = request()
            try:
                left = max(1.0, timer.remaining() * 1000)
                return self._await(manager.call_soon(manager.send, asked, node, left), deadline)
            except kafka_errors.KafkaError as why:
                sent = not isinstance(why, (kafka_errors.NodeNotReadyError, kafka_errors.UnknownBrokerIdError))
                if once and sent:
                    raise IndefiniteOutcomeError(
                        f"{asked.name} at {self.servers}: {why}; it may have happened"
                    ) from why
                unavailable = isinstance(why, (kafka_errors.RetriableError, kafka_errors.UnknownBrokerIdError))
                if not unavailable:
                    raise
                if not timer.backoff():
                    raise self._unreachable(why) from why

    def send_each(self, requests: Mapping[str, Request], deadline: float, node: int | str) -> Mapping[str, Any]:
        """Send many requests in parallel; the result holds the response, or the library's error, of each."""
        manager = self._manager(deadline)
        left = max(1.0, (deadline - self.runtime.now()) * 1000)
        futures = {name: manager.call_soon(manager.send, each, node, left) for name, each in requests.items()}
        found: dict[str, Any] = {}
        for name, future in futures.items():
            try:
                found[name] = self._await(future, deadline)
            except kafka_errors.KafkaError as why:
                found[name] = why
        return found

    def update_metadata(self, metadata: Response) -> None:
        """Store the brokers of a metadata answer, so that requests can name them by number."""
        if self._client is not None:
            self._client.cluster.update_metadata(metadata)

    def add_coordinator(self, found: Response, kind: int, key: str) -> str:
        """Store a coordinator; return the node name for requests to it."""
        if self._client is None:
            raise IllegalStateError("nobody was asked for a coordinator yet")
        return str(self._client.cluster.add_coordinator(found, kind, key))

    def close(self) -> None:
        """Close the client; calls that wait raise."""
        self._closed = True
        client, self._client = self._client, None
        if client is not None:
            close_client(client)

    # --- the library's client

    def _manager(self, deadline: float) -> Any:
        if self._closed:
            raise IllegalStateError("this client is closed")
        if self._client is None:
            client = self.client(deadline, max_in_flight_requests_per_connection=_MANY)
            client._net.start()
            self._client = client
            weakref.finalize(self, close_client, client).atexit = False
        return self._client._manager

    def _bootstrap(self, client: KafkaNetClient, deadline: float) -> None:
        left = max(1.0, (deadline - self.runtime.now()) * 1000)
        met = client._manager.bootstrap_async(left)
        while not met.is_done:
            if self._closed:
                raise ClosedError(f"closed while it waited for {self.servers}")
            if self.runtime.now() >= deadline:
                break
            wait = min(_LONGEST_WAIT, max(0.001, deadline - self.runtime.now()))
            client.poll(timeout_ms=wait * 1000, future=met)
        if not met.succeeded():
            refused = next(iter(client._manager._auth_failures.values()), None)
            raise self._unreachable(refused or met.exception)

    def _await(self, future: Any, deadline: float) -> Response:
        done = self.runtime.event()
        future.add_both(lambda _: done.set())
        while not done.wait(min(_LONGEST_WAIT, max(0.001, deadline - self.runtime.now()))):
            if self._closed:
                raise ClosedError(f"closed while it waited for {self.servers}")
            if self.runtime.now() >= deadline:
                raise kafka_errors.KafkaTimeoutError("no answer")
        if future.exception is not None:
            raise future.exception
        return future.value

    def _unreachable(self, why: BaseException | None) -> EosfwError:
        seen = f" (last seen: {why})" if why is not None else ""
        absent = f"no broker answered at {self.servers}{seen}; is the cluster running, is bootstrap.servers right?"
        return with_refusal(ClusterUnavailableError(absent), self.authentication)


def close_client(client: KafkaNetClient) -> None:
    """Close a client and its thread, waiting for that thread for a bounded time; closing twice does no harm.

    Its thread holds it, so it would outlive whoever lets go of it without closing.
    """
    with suppress(RuntimeError):  # a finalizer may run on that very thread, which cannot wait for itself
        client._net.stop(timeout_ms=_STOPPING * 1000)
    with suppress(RuntimeError):  # it did not end in time
        client.close()
