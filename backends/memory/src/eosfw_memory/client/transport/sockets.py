"""The transport over blocking sockets, with one connection to each broker."""

from __future__ import annotations

import math
import socket
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Final, NoReturn

from eosfw.concurrency import FairLock, Runtime
from eosfw.config.security import SecuritySettings
from eosfw.errors import AuthenticationError
from eosfw.security import Address
from eosfw_memory.client.transport.apis import API_VERSIONS, Api, Fields
from eosfw_memory.client.transport.channel import (
    ClosedError,
    InFlightRequest,
    MalformedResponseError,
    NoAnswerError,
    NotSentError,
    UnsupportedServerError,
)
from eosfw_memory.client.transport.channel_builder import ChannelBuilder
from eosfw_memory.client.transport.messages import AnswerError, Format, format_of
from eosfw_memory.client.transport.response_validation import find_missing
from eosfw_memory.common.delayed_operation import Answer

_LENGTH = struct.Struct(">i")
_MAX_FRAME = 256 << 20
"""More than any answer has; a server that announces more does not speak Kafka's protocol."""
_FIRST_ROOM = 1 << 20
_SHORTEST = 0.001
_MAX_CORRELATION = 2**31 - 1
_RENEWED_AT: Final = 0.85
"""The part of a session after which the client logs in again; Java's clients take 0.85 to 0.95."""
PLAINTEXT: Final = ChannelBuilder(SecuritySettings())


class SocketChannel:
    """One connection, opened when it is needed, and again after it broke."""

    def __init__(
        self,
        address: Address,
        client_id: str,
        request_timeout: float,
        runtime: Runtime,
        builder: ChannelBuilder = PLAINTEXT,
    ) -> None:
        self._address = address
        self._builder = builder
        self._client_id = client_id
        self._request_timeout = request_timeout
        self._runtime = runtime
        self._socket: socket.socket | None = None
        self._renew_at = math.inf
        self._refusal: AuthenticationError | None = None
        """Why the broker refused the last login that it answered, if it did."""
        self._versions: dict[int, tuple[int, int]] = {}
        self._correlation = 0
        self._closed = False
        self._turns = FairLock(runtime)
        """Held until an answer has come: a connection carries one request at a time."""

    def call(self, api: Api, request: Fields, deadline: float) -> Answer:
        with self._turn(deadline):
            self._connect(deadline)
            return self._exchange(api, self._version(api), request, deadline)

    def send(self, api: Api, request: Fields, deadline: float) -> InFlightRequest:
        self._connect(deadline)
        form = self._transmit(api, self._version(api), request, deadline)

        def wait(until: float) -> Answer | None:
            if not self._readable(api, until):
                return None
            return self._answer(api, form, request, self._runtime.now() + self._request_timeout)

        return InFlightRequest(wait, self._drop)

    def connect(self, deadline: float) -> None:
        """Open the connection unless it is open; raise NotSentError if that fails."""
        with self._turn(deadline):
            self._connect(deadline)

    @contextmanager
    def _turn(self, deadline: float) -> Iterator[None]:
        with self._turns.held(deadline) as mine:
            if not mine:
                raise NotSentError(f"another thread is still waiting for an answer from {self._address}")
            yield

    def _connect(self, deadline: float) -> None:
        self._refuse_if_closed()
        if self._socket is not None and not _abandoned(self._socket) and self._renewed(self._socket, deadline):
            return
        self._drop()
        try:
            opened = self._builder.open(self._address, lambda: self._left(deadline))
        except AuthenticationError as why:
            # Refusals pass while brokers restart and passwords change; that of the first contact is `require`'s.
            self._refusal = why
            raise NotSentError(f"cannot connect to {self._address}: {why}") from why
        except OSError as why:
            # The end of a call cuts its last attempt short, which says less than why the attempts before it failed.
            reason = self._refusal if self._refusal is not None and isinstance(why, TimeoutError) else why
            raise NotSentError(f"cannot connect to {self._address}: {reason}") from why
        self._refusal = None
        self._socket = opened.socket
        self._refuse_if_closed()  # meanwhile, by another thread, which found nothing to close
        self._limit_session(opened.session_lifetime)
        try:
            answer = self._exchange(API_VERSIONS, API_VERSIONS.max_version, Fields(), deadline)
        except MalformedResponseError as why:
            raise UnsupportedServerError(str(why)) from why
        except NoAnswerError as why:
            raise NotSentError(f"{self._address} does not answer: {why}") from why
        self._versions = {each["api_key"]: (each["min_version"], each["max_version"]) for each in answer["api_keys"]}  # type: ignore[attr-defined]

    def _renewed(self, opened: socket.socket, deadline: float) -> bool:
        """Log in again if the session is soon over (KIP-368); False if a new connection must try."""
        if self._runtime.now() < self._renew_at:
            return True
        try:
            self._limit_session(self._builder.renew(opened, self._address, lambda: self._left(deadline)))
        except (OSError, AuthenticationError):
            return False
        return True

    def _limit_session(self, lifetime: float) -> None:
        self._renew_at = self._runtime.now() + lifetime * _RENEWED_AT if lifetime else math.inf

    def close(self) -> None:
        """Close the connection; a call that waits on another thread ends."""
        self._closed = True
        self._drop()

    def _refuse_if_closed(self) -> None:
        if self._closed:
            self._drop()
            raise ClosedError(f"the connection to {self._address} was closed")

    def _version(self, api: Api) -> int:
        low, high = self._versions.get(api.key, (0, -1))
        version = min(high, api.max_version)
        if version < max(low, api.min_version):
            raise UnsupportedServerError(
                f"the broker at {self._address} speaks versions {low} to {high} of {api.name}, "
                f"this client {api.min_version} to {api.max_version}"
            )
        return version

    def _exchange(self, api: Api, version: int, request: Fields, deadline: float) -> Answer:
        deadline = min(deadline, self._runtime.now() + self._request_timeout)
        form = self._transmit(api, version, request, deadline)
        return self._answer(api, form, request, deadline)

    def _transmit(self, api: Api, version: int, request: Fields, deadline: float) -> Format:
        """Send a request; return the format of its answer."""
        self._correlation = (self._correlation + 1) & _MAX_CORRELATION
        form = format_of(api.key, version)
        frame = form.frame(self._correlation, self._client_id, request)
        try:
            opened = self._open()
            opened.settimeout(self._left(deadline))
            opened.sendall(frame)
        except OSError as why:
            self._lost(api, why)
        return form

    def _readable(self, api: Api, deadline: float) -> bool:
        """Whether bytes, or the end of the connection, come by the deadline."""
        try:
            opened = self._open()
            opened.settimeout(self._left(deadline))
            opened.recv(1, socket.MSG_PEEK)
        except TimeoutError:
            return False
        except OSError as why:
            self._lost(api, why)
        return True

    def _answer(self, api: Api, form: Format, request: Fields, deadline: float) -> Answer:
        try:
            received = self._read(deadline)
        except OSError as why:
            self._lost(api, why)
        try:
            correlation, answer = form.answer(received)
        except AnswerError as why:
            self._drop()
            raise MalformedResponseError(
                f"{api.name}: {self._address} sent no answer of Kafka's protocol: {why}"
            ) from why
        if correlation != self._correlation:
            self._drop()
            raise MalformedResponseError(
                f"{api.name}: {self._address} answered request {correlation}, not {self._correlation}"
            )
        missing = find_missing(api, request, answer)
        if missing is not None:
            raise MalformedResponseError(f"{api.name}: {self._address} answered without a word of {missing}")
        return answer

    def _read(self, deadline: float) -> bytes:
        size = _LENGTH.unpack(self._receive(_LENGTH.size, deadline))[0]
        if not 0 < size <= _MAX_FRAME:
            self._drop()
            raise MalformedResponseError(f"{self._address} sent no answer of Kafka's protocol: a frame of {size} bytes")
        return bytes(self._receive(size, deadline))  # kio reads from bytes only

    def _receive(self, size: int, deadline: float) -> bytearray:
        """Receive so many bytes; the buffer grows with them, since a server may announce more than it sends."""
        opened, received, at = self._open(), bytearray(min(size, _FIRST_ROOM)), 0
        while at < size:
            if at == len(received):
                received += bytes(min(at, size - at))
            with memoryview(received) as view:
                while at < len(received):
                    opened.settimeout(self._left(deadline))
                    count = opened.recv_into(view[at:])
                    if not count:
                        raise ConnectionResetError("the broker closed the connection")
                    at += count
        return received

    def _open(self) -> socket.socket:
        opened = self._socket
        if opened is None:
            raise ConnectionResetError("the connection is closed")
        return opened

    def _left(self, deadline: float) -> float:
        return max(_SHORTEST, deadline - self._runtime.now())

    def _lost(self, api: Api, why: OSError) -> NoReturn:
        # Drop the connection: a late answer must not be taken for that of the next request.
        self._drop()
        if self._closed:
            raise ClosedError(f"{api.name}: the connection to {self._address} was closed") from why
        raise NoAnswerError(f"{api.name}: no answer from {self._address}: {why}") from why

    def _drop(self) -> None:
        opened, self._socket = self._socket, None
        if opened is not None:
            with suppress(OSError):  # wakes a thread that waits for bytes
                opened.shutdown(socket.SHUT_RDWR)
            opened.close()


def _abandoned(opened: socket.socket) -> bool:
    """Whether the broker closed an idle connection, or sent bytes that no request asked for."""
    opened.setblocking(False)
    try:
        opened.recv(1, socket.MSG_PEEK)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


class SocketNetwork:
    """The connections of one client object to the brokers of a cluster."""

    eager = False
    propagation_timeout = 2.0

    def __init__(
        self,
        servers: str,
        client_id: str,
        request_timeout: float,
        runtime: Runtime,
        builder: ChannelBuilder = PLAINTEXT,
    ) -> None:
        self.servers = servers
        self._builder = builder
        self._channels: dict[Address, SocketChannel] = {}
        self._closed = False
        self._bootstrap = addresses(servers)
        self._client_id = client_id
        self._request_timeout = request_timeout
        self._runtime = runtime

    def any(self, deadline: float) -> SocketChannel:
        """An open channel: first those that were used, then the bootstrap addresses."""
        self._builder.require()
        failed: NotSentError | None = None
        known = sorted(self._channels, key=lambda address: address not in self._bootstrap)
        for number, address in enumerate(every := [*dict.fromkeys((*known, *self._bootstrap))]):
            channel = self.at(address)
            now = self._runtime.now()
            share = (deadline - now) / (len(every) - number)
            try:
                channel.connect(now + share)
            except NotSentError as why:
                failed = why
            else:
                return channel
        raise failed or NotSentError(f"no address in bootstrap.servers={self.servers}")

    def at(self, address: Address) -> SocketChannel:
        found = self._channels.get(address)
        if found is None:
            made = SocketChannel(address, self._client_id, self._request_timeout, self._runtime, self._builder)
            found = self._channels.setdefault(address, made)
        if self._closed:  # perhaps meanwhile, by another thread, which did not find this channel
            raise ClosedError(f"the client of {self.servers} was closed")
        return found

    def __del__(self) -> None:
        # A client that was dropped without a close must not keep its connections.
        self.close()

    def close(self) -> None:
        self._closed = True
        for channel in tuple(self._channels.values()):
            channel.close()


def addresses(servers: str) -> Sequence[Address]:
    """The addresses in `bootstrap.servers`; raise ValueError that names a wrong one."""
    found = []
    for text in filter(None, (part.strip() for part in servers.split(","))):
        host, colon, port = text.rpartition(":")
        if not colon or not host or not port.isdecimal() or not 0 < int(port) < 1 << 16:
            raise ValueError(f"{text!r} is not HOST:PORT")
        found.append(Address(host.strip("[]"), int(port)))
    if not found:
        raise ValueError("it names no address")
    return found
