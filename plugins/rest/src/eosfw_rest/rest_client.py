"""The client for requests to other workers (Kafka Connect's `RestClient`)."""

from __future__ import annotations

import http.client
import ipaddress
import socket
import ssl
from collections.abc import Callable, Mapping
from contextlib import closing
from typing import Final
from urllib.parse import SplitResult, urlsplit

from eosfw.errors import BadRequestError, ClusterUnavailableError, RetriableError
from eosfw.protocols import RestResponse

_LARGEST: Final = 64 * 2**20
_CHUNK: Final = 2**16


def worker_url_problem(url: str) -> str | None:
    """Why no worker can be at this URL; None if one can. A member of a group chooses its URL itself."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as why:
        return str(why)
    if parts.scheme not in ("http", "https") or not host:
        return "it is no http://HOST:PORT"
    if parts.username is not None or parts.path not in ("", "/") or parts.query or parts.fragment or port == 0:
        return "it has more than host and port"
    return _address_problem(host)


def _address_problem(host: str) -> str | None:
    address = _address(host)
    if address is not None and (address.is_link_local or address.is_multicast or address.is_unspecified):
        # Metadata services of clouds are at link-local addresses.
        return "no worker listens at a link-local, multicast or unspecified address"
    return None


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The address that a host is written as, also in a form with fewer than three dots; None for a name."""
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        try:
            return ipaddress.IPv4Address(socket.inet_aton(host))
        except OSError:
            return None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address


class RestClient:
    """Sends requests, each with a deadline of its own, over TLS for https URLs; follows no redirect."""

    def __init__(self, now: Callable[[], float], tls: ssl.SSLContext | None = None) -> None:
        self._now, self._tls = now, tls

    def request(self, method: str, url: str, body: bytes, headers: Mapping[str, str], timeout: float) -> RestResponse:
        """Send a request; RetriableError if the other worker does not answer in time."""
        parts = urlsplit(url)
        if problem := worker_url_problem(f"{parts.scheme}://{parts.netloc}"):
            raise BadRequestError(f"{url!r} is no URL of a worker: {problem}")
        deadline = self._now() + timeout
        try:
            with closing(self._connection(parts, timeout)) as connection:
                _connect(connection, url)
                connection.request(method, _target(parts), body or None, _with_content_type(headers, body))
                return self._response(connection, deadline)
        except (OSError, http.client.HTTPException) as why:
            raise RetriableError(f"{method} {url} got no answer: {type(why).__name__}: {why}") from why

    def _connection(self, parts: SplitResult, timeout: float) -> http.client.HTTPConnection:
        host = parts.hostname or ""
        if parts.scheme == "https":
            context = self._tls or ssl.create_default_context()
            return http.client.HTTPSConnection(host, parts.port, timeout=timeout, context=context)
        return http.client.HTTPConnection(host, parts.port, timeout=timeout)

    def _response(self, connection: http.client.HTTPConnection, deadline: float) -> RestResponse:
        self._limit(connection, deadline)
        response = connection.getresponse()
        body = bytearray()
        while True:
            self._limit(connection, deadline)
            chunk = response.read1(_CHUNK)
            if not chunk:
                break
            body += chunk
            if len(body) > _LARGEST:
                raise http.client.HTTPException(f"more than {_LARGEST} bytes")
        if response.length:  # `read1`, unlike `read`, takes an early end of the connection for the end of the body
            raise http.client.IncompleteRead(bytes(body), response.length)
        headers = {name.lower(): text for name, text in response.getheaders()}
        return RestResponse(response.status, bytes(body), headers)

    def _limit(self, connection: http.client.HTTPConnection, deadline: float) -> None:
        left = deadline - self._now()
        if left <= 0:
            raise TimeoutError("the time is over")
        if connection.sock is not None:
            connection.sock.settimeout(left)


def _connect(connection: http.client.HTTPConnection, url: str) -> None:
    """Connect; ClusterUnavailableError says that nothing was sent."""
    try:
        connection.connect()
    except OSError as why:
        raise ClusterUnavailableError(f"no worker answers at {url}: {why}") from why
    peer = str(connection.sock.getpeername()[0])
    if problem := _address_problem(peer):
        # A name may mean any address: nothing is sent before it is known.
        raise ClusterUnavailableError(f"no worker answers at {url}, which is {peer}: {problem}")


def _with_content_type(headers: Mapping[str, str], body: bytes) -> dict[str, str]:
    named = any(name.lower() == "content-type" for name in headers)
    return dict(headers) if named or not body else {"Content-Type": "application/json", **headers}


def _target(parts: SplitResult) -> str:
    return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
