"""Serve one client's connection; Kafka's `Processor` for one channel.

Requests of a connection are answered one after the other, in order, as Kafka does: while an answer is delayed, the
requests behind it wait. A client's mistake closes its own connection and no other.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

from eosfw_memory.common.delayed_operation import EXTENSION_MS, Answer, DelayedOperation, DisconnectClientError
from eosfw_memory.server.broker.broker import Broker, Context
from eosfw_memory.server.network.authentication import Authentication
from eosfw_memory.server.network.connection_quotas import ConnectionSlot
from eosfw_memory.server.network.frames import FrameDecoder, FrameError
from eosfw_memory.server.network.sasl_server_authenticator import SaslServerAuthenticator, begins_authentication
from eosfw_memory.server.network.session import Session, session_lifetime
from eosfw_memory.server.network.throttle import Throttle
from eosfw_memory.server.network.vectored_write import send, send_joined
from eosfw_memory.server.protocol.codec import DecodedRequest, RequestError, UnsupportedRequestError, decode
from eosfw_memory.server.protocol.routes import PRODUCE
from eosfw_memory.server.protocol.unsupported_requests import UnsupportedRequests
from eosfw_memory.server.quotas.client_quota_entity import Client
from eosfw_memory.server.quotas.request_quota import RequestQuota
from eosfw_memory.server.security.listeners import Listener
from eosfw_memory.server.security.principal import ANONYMOUS, name_of, principal_of_certificate
from eosfw_memory.server.security.sasl_mechanisms import exchanges
from eosfw_memory.storage.records.batch import Buffer

_LOG = logging.getLogger(__name__)
_MAX_WAITING = 64
_MAX_WAITING_BYTES = 4 << 20
"""How many requests, of how many bytes, may wait here; beyond that the socket is not read."""


@dataclass(frozen=True, slots=True)
class Connections:
    """What the connections of one broker share."""

    open: set[Connection] = field(default_factory=set)
    unsupported: UnsupportedRequests = field(default_factory=UnsupportedRequests)


class Connection(asyncio.BufferedProtocol):
    """The protocol of one accepted socket; every method runs on the event loop's thread."""

    def __init__(self, broker: Broker, connections: Connections, listener: Listener, slot: ConnectionSlot) -> None:
        self._broker = broker
        self._connections = connections.open
        self._unsupported = connections.unsupported
        self._listener = listener
        self._slot = slot
        self._principal = ANONYMOUS
        self._decoder = FrameDecoder(broker.settings.request_max_bytes)
        self._authentication: Authentication | None = None
        self._session: Session | None = None
        if listener.mechanisms:
            self._authentication = self._new_authentication()
        self._send = send if listener.tls is None else send_joined
        self._frames: deque[Buffer] = deque()
        self._waiting_bytes = 0
        self._poll: LongPoll | None = None
        self._throttle: Throttle | None = None
        self._writable = True
        self._reading = True
        self._host = ""
        self._transport: asyncio.Transport

    # --- callbacks of the event loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        # asyncio does this only for sockets made with an explicit protocol number. Without it answers wait 40 ms.
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        peer = transport.get_extra_info("peername")  # None if the client is gone already
        self._host = f"/{peer[0]}" if peer else ""
        self._principal = principal_of_certificate(transport.get_extra_info("peercert"))
        self._connections.add(self)
        self._loop = asyncio.get_running_loop()
        self._active_at = self._loop.time()
        if self._broker.down:
            self.abort()
        elif self._authentication is not None:
            self._authentication.begin(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._connections.discard(self)
        self._slot.release()
        self._frames.clear()
        if self._authentication is not None:
            self._authentication.cancel()
        if self._poll is not None:
            self._poll.cancel()
            self._poll = None
        if self._throttle is not None:
            self._throttle.cancel()

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._decoder.free_buffer()

    def buffer_updated(self, nbytes: int) -> None:
        self._active_at = self._loop.time()
        try:
            frames = self._decoder.received(nbytes)
        except FrameError as wrong:
            self.refuse(wrong)
            return
        for frame in frames:
            if self._free and not self._frames:
                self._process(frame)
            else:
                self._frames.append(bytes(frame))  # a copy: the next bytes overwrite the decoder's buffer
                self._waiting_bytes += len(frame)
        if self._frames:
            self._pace()

    def pause_writing(self) -> None:
        self._writable = False

    def resume_writing(self) -> None:
        self._writable = True
        self._advance()

    def close_if_idle(self, since: float) -> None:
        """Close if no byte came or went since that time of the event loop's clock, unless an answer is delayed."""
        if self._poll is None and self._throttle is None and self._active_at < since:
            self.refuse(TimeoutError("nothing came or went for connections.max.idle.ms"))

    def abort(self) -> None:
        """Drop the connection at once."""
        self._transport.abort()

    # --- requests in their order

    @property
    def _free(self) -> bool:
        """Whether the next request may be processed: no answer is delayed, the client takes them, and need not wait."""
        return self._poll is None and self._throttle is None and self._writable and not self._transport.is_closing()

    def _advance(self) -> None:
        while self._frames and self._free:
            frame = self._frames.popleft()
            self._waiting_bytes -= len(frame)
            self._process(frame)
        self._pace()

    def _pace(self) -> None:
        """Stop reading while too many requests wait; start again when they are fewer."""
        if len(self._frames) > _MAX_WAITING or self._waiting_bytes > _MAX_WAITING_BYTES:
            self._transport.pause_reading()
            self._reading = False
        elif not self._reading and not self._transport.is_closing():
            self._transport.resume_reading()
            self._reading = True

    def _process(self, frame: Buffer) -> None:
        if self._session is not None and self._authentication is None:
            self._check_session(self._session, frame)
            if self._transport.is_closing():
                return
        if self._authentication is not None:
            self._authentication.process(frame)
            return
        quotas = self._broker.client_quotas
        started = quotas.clock() if quotas.enabled else None
        try:
            request = decode(frame)
            if started is not None:
                request = self._counted(request, len(frame), started)
            answer = self._broker.serve(request.codec.handler, request.body, self._context(request))
        except (RequestError, DisconnectClientError) as wrong:
            self.refuse(wrong)
        except Exception:  # noqa: BLE001 - a mistake in a handler ends one connection, not the broker
            self.fail()
        else:
            self._respond(request, answer)
        # After the answer is on its way: Kafka, too, writes markers once EndTxn is answered.
        self._broker.settle()

    def _context(self, request: DecodedRequest) -> Context:
        version, client_id = request.codec.version, request.client_id
        return Context(version, client_id, self._host, False, self._listener.name, self._principal, request.quota)

    def _counted(self, request: DecodedRequest, size: int, started: float) -> DecodedRequest:
        """The request with what it costs, in a broker with quotas."""
        client = Client(name_of(self._principal), request.client_id)
        produced = size if request.codec.key == PRODUCE else None
        return request._replace(quota=RequestQuota(self._broker.client_quotas, client, started, produced))

    def _respond(self, request: DecodedRequest, answer: Answer | DelayedOperation | None) -> None:
        if isinstance(answer, DelayedOperation):
            if request.quota is not None:
                request.quota.stop_clock()
            self._poll = LongPoll(self, request, answer, self._broker)
            return
        if request.quota is not None and (throttle_ms := request.quota.throttle_ms()):
            # Answered at once, as in Kafka since KIP-219: the client is told to wait, and waits for what it asks next.
            answer = None if answer is None else {**answer, "throttle_time": throttle_ms}
            self._throttle = Throttle(self._broker, throttle_ms, self._throttle_ended)
        if answer is not None:
            self._send(self._transport, request.codec.encode(request.correlation_id, answer))

    def poll_answered(self, request: DecodedRequest, answer: Answer) -> None:
        """Send an answer that was delayed, then continue with the requests behind it."""
        self._poll = None
        self._active_at = self._loop.time()
        self._respond(request, answer)
        self._advance()

    def end_throttle_if_over(self) -> None:
        """Go on with the requests of a client that has waited for long enough, now that time has jumped."""
        if self._throttle is not None:
            self._throttle.end_if_over()

    def _throttle_ended(self) -> None:
        self._throttle = None
        self._active_at = self._loop.time()
        self._advance()

    # --- before the client is known

    def _api_versions(self, request: DecodedRequest) -> Answer:
        return cast("Answer", self._broker.serve(request.codec.handler, request.body, self._context(request)))

    def _new_authentication(self) -> Authentication:
        longest = self._listener.max_session
        authenticator = SaslServerAuthenticator(
            exchanges(self._listener.mechanisms, self._broker.scram.lookup),
            self._api_versions,
            lambda expires_at: session_lifetime(longest, expires_at, self._broker.now_ms() / 1000),
            self._session,
        )
        return Authentication(authenticator, self._broker.settings.authentication, renews=self._session is not None)

    def _check_session(self, session: Session, frame: Buffer) -> None:
        """Begin another authentication if the client wants one; close the connection if its session is over."""
        now = self._loop.time()
        if begins_authentication(frame) and session.may_be_renewed(now):
            self._authentication = self._new_authentication()
            self._authentication.begin(self)
        elif session.is_over(now):
            self.refuse(TimeoutError(f"the session of {session.principal} is over (connections.max.reauth.ms)"))

    def write(self, pieces: Sequence[Buffer]) -> None:
        self._send(self._transport, pieces)

    def limit_bytes(self, most: int) -> None:
        self._decoder.max_bytes = most

    def on_authenticated(self, principal: str) -> None:
        _LOG.debug("connection of %s is authenticated as %s", self._peer(), principal)
        self._principal = principal
        if self._authentication is not None:
            self._session, self._authentication = self._authentication.session, None
        self._decoder.max_bytes = self._broker.settings.request_max_bytes

    def turn_away(self, answer: Sequence[Buffer], wrong: Exception) -> None:
        _LOG.info("connection of %s closed: %s", self._peer(), wrong)
        self._frames.clear()
        self.write(answer)
        self._transport.close()

    # --- the end

    def refuse(self, wrong: Exception) -> None:
        """Close the connection and log why."""
        if isinstance(wrong, UnsupportedRequestError):
            self._unsupported.warn(wrong, self._peer())
        _LOG.info("connection of %s closed: %s", self._peer(), wrong)
        self._frames.clear()
        self._transport.abort()

    def fail(self) -> None:
        """Close the connection after an exception that is being handled: else its client would wait in vain."""
        _LOG.exception("the embedded broker failed to answer a request of %s", self._peer())
        self._transport.abort()

    def _peer(self) -> object:
        return self._transport.get_extra_info("peername")


class LongPoll:
    """One delayed answer: tried again after each wake, which any thread may give, and at its timeout."""

    def __init__(
        self, connection: Connection, request: DecodedRequest, operation: DelayedOperation, broker: Broker
    ) -> None:
        self._connection = connection
        self._request = request
        self._operation = operation
        self._broker = broker
        self._loop = asyncio.get_running_loop()
        self._due = False
        self._done = False
        self._timer = self._loop.call_later(max(operation.timeout_ms, 0) / 1000, self._attempt, True)
        broker.await_answer(operation, self._wake)
        # A caller in this process may have changed something between the first attempt and the subscription.
        self._wake()

    def cancel(self) -> None:
        """Stop waiting."""
        self._done = True
        self._timer.cancel()
        self._broker.give_up(self._operation)

    def _wake(self) -> None:
        if self._due:
            return
        self._due = True
        self._loop.call_soon_threadsafe(self._attempt, False)

    def _attempt(self, expired: bool) -> None:  # noqa: FBT001 - the event loop passes positions only
        # Before the attempt, so that a wake during it leads to another one.
        self._due = False
        if self._done:
            return
        try:
            answer = self._broker.attempt(self._operation, expired=expired)
            if answer is not None:
                self.cancel()
                self._connection.poll_answered(self._request, answer)
        except DisconnectClientError as why:
            self.cancel()
            self._connection.refuse(why)
            return
        except Exception:  # noqa: BLE001 - as of a request that is answered at once
            self.cancel()
            self._connection.fail()
            return
        if answer is None and expired:
            self._timer = self._loop.call_later(EXTENSION_MS / 1000, self._attempt, True)
