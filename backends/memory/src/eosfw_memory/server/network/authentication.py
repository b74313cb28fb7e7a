"""Hold a connection to what it may cost before it is authenticated: bytes, time, and guesses of passwords."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from typing import Protocol

from eosfw_memory.server.network.sasl_server_authenticator import AuthenticationFailedError, SaslServerAuthenticator
from eosfw_memory.server.network.session import Session
from eosfw_memory.server.security.listeners import AuthenticationLimits
from eosfw_memory.storage.records.batch import Buffer


class Channel(Protocol):
    """The connection, as its authentication sees it."""

    def write(self, pieces: Sequence[Buffer]) -> None:
        """Send the pieces of an answer."""

    def on_authenticated(self, principal: str) -> None:
        """Serve requests from now on."""

    def limit_bytes(self, most: int) -> None:
        """Take no frame that is larger."""

    def refuse(self, wrong: Exception) -> None:
        """Close the connection at once and log why."""

    def turn_away(self, answer: Sequence[Buffer], wrong: Exception) -> None:
        """Close the connection behind an answer and log why."""


class Authentication:
    """One authentication of one connection; every method runs on the event loop's thread."""

    def __init__(
        self, authenticator: SaslServerAuthenticator, limits: AuthenticationLimits, *, renews: bool = False
    ) -> None:
        self._authenticator = authenticator
        self._limits = limits
        self._bytes_left = limits.max_bytes
        self._loop = asyncio.get_running_loop()
        now = self._loop.time()
        self._renewed_at = now if renews else -math.inf
        self._due = now + limits.timeout  # from here on: a slow handshake of TLS is part of it
        self._timer: asyncio.TimerHandle | None = None
        self._failed = False
        self._channel: Channel

    def begin(self, channel: Channel) -> None:
        """Watch a connection that is open now."""
        self._channel = channel
        channel.limit_bytes(self._bytes_left)
        late = TimeoutError("it was not authenticated within eosfw.authentication.timeout.ms")
        self._timer = self._loop.call_at(self._due, channel.refuse, late)

    @property
    def session(self) -> Session:
        """What the client has for its authentication."""
        done, lifetime = self._authenticator, self._authenticator.session_lifetime
        ends_at = math.inf if lifetime is None else self._loop.time() + lifetime
        return Session(done.mechanism, done.principal, ends_at, self._renewed_at)

    def cancel(self) -> None:
        """Stop watching."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def process(self, frame: Buffer) -> None:
        """Answer a frame, or close the connection."""
        if self._failed:
            return  # what came behind a wrong password
        self._bytes_left -= len(frame)
        if self._bytes_left < 0:
            self._fail(AuthenticationFailedError("it sent more than sasl.server.max.receive.size before it is known"))
            return
        try:
            answer = self._authenticator.authenticate(frame)
        except AuthenticationFailedError as why:
            self._fail(why)
            return
        self._channel.write(answer)
        if self._authenticator.complete:
            self.cancel()
            self._channel.on_authenticated(self._authenticator.principal)
        else:
            self._channel.limit_bytes(self._bytes_left)

    def _fail(self, why: AuthenticationFailedError) -> None:
        self._failed = True
        self.cancel()
        if why.answer:
            # Kafka waits as well: whoever guesses passwords waits with each guess.
            delay = self._limits.failure_delay
            self._timer = self._loop.call_later(delay, self._channel.turn_away, why.answer, why)
        else:
            self._channel.refuse(why)
