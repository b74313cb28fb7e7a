"""The check, within moments, that a broker listens at an address of `bootstrap.servers`."""

from __future__ import annotations

import re
import socket
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, NamedTuple

from eosfw.concurrency import Queue, Runtime
from eosfw.errors import ClusterUnavailableError, ConfigError, Problem

SETUP_TIMEOUT = "socket.connection.setup.timeout.ms"
"""Kafka's name for how long one connection may take to open."""
_DEFAULT_SETUP_TIMEOUT = 10.0
_START_TIME = 1.0
"""Seconds in which a refused connection is tried again: the broker may be about to start."""
_PAUSE = 0.1
_ADDRESS = re.compile(r"(?:\w+://)?(?:\[(?P<six>[0-9a-fA-F:.%]+)\]|(?P<host>[^\s:/\[\]]+)):(?P<port>\d{1,5})")


class Address(NamedTuple):
    """A host with a port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class _Attempt(NamedTuple):
    address: Address
    refusal: str | None


def require_addresses(where: str, servers: str, given: str = "") -> None:
    """Raise ConfigError, which begins with `where`, unless every address of `bootstrap.servers` is written HOST:PORT.

    Some clients treat a host without port as one that does not answer, and wait. `given` is the text of the user.
    """
    each = [text.strip() for text in servers.split(",")]
    wrong = [text for text in each if text and not _possible(_address(text))]
    if wrong or not any(each):
        shown = given or ", ".join(map(repr, wrong)) or "no address"
        raise ConfigError(Problem(where, f"{shown}: write HOST:PORT, with a port between 1 and 65535"))


def require_reachable(properties: Mapping[str, str], runtime: Runtime) -> None:
    """Return once one address of `bootstrap.servers` accepts a connection; else ClusterUnavailableError says why.

    Clients of Kafka try again for as long as one call may take, since a broker may come back. That is right during a
    run and wrong for a mistyped port. So a refused connection, or an unknown host, is final after a second; no reaction
    is final after `socket.connection.setup.timeout.ms`. Whether a broker that accepts also answers is left to the
    client, within `default.api.timeout.ms`. An answer in another protocol is named, unless the client speaks TLS.
    """
    each_address = parse_addresses(properties.get("bootstrap.servers", ""))
    if not each_address:
        return
    patience = _setup_timeout(properties)
    answers: Queue[_Attempt] = runtime.queue()
    for address in each_address:
        attempt = partial(_refusal, address, patience, plain=is_plaintext(properties))
        runtime.spawn(f"eosfw-reach-{address}", partial(_try, address, attempt, patience, answers, runtime))
    refusals = dict.fromkeys(each_address, f"nothing within {patience:g} s")
    deadline = runtime.now() + patience + _START_TIME
    for _ in each_address:
        try:
            tried = answers.get(max(0.0, deadline - runtime.now()))
        except TimeoutError:  # a name is still being looked up, which cannot be interrupted
            break
        if tried.refusal is None:
            return
        refusals[tried.address] = tried.refusal
    shown = ", ".join(f"{address} ({why})" for address, why in refusals.items())
    raise ClusterUnavailableError(f"no broker listens at {shown}; is the cluster running, is bootstrap.servers right?")


def _try(
    address: Address, attempt: Callable[[], str | None], patience: float, answers: Queue[_Attempt], runtime: Runtime
) -> None:
    final = runtime.now() + min(patience, _START_TIME)
    while (refusal := attempt()) is not None and runtime.now() < final:
        runtime.sleep(_PAUSE)
    answers.put(_Attempt(address, refusal))


def _refusal(address: Address, patience: float, *, plain: bool) -> str | None:
    try:
        with socket.create_connection(address, timeout=patience) as connection:
            return foreign_protocol(connection) if plain else None
    except TimeoutError:
        return f"nothing within {patience:g} s"
    except (OSError, ValueError, OverflowError) as error:
        # The last two are raised for a malformed name, and for a port above 65,535.
        return getattr(error, "strerror", None) or str(error)


def parse_addresses(servers: str) -> list[Address]:
    """Every address; none if one of them is not written HOST:PORT, which the client reports."""
    found = [_address(text.strip()) for text in servers.split(",") if text.strip()]
    return [] if None in found else list(dict.fromkeys(one for one in found if one))


def _address(text: str) -> Address | None:
    found = _ADDRESS.fullmatch(text)
    return Address(found["six"] or found["host"], int(found["port"])) if found else None


def _possible(address: Address | None) -> bool:
    return address is not None and 0 < address.port <= 65535


def _setup_timeout(properties: Mapping[str, str]) -> float:
    text = properties.get(SETUP_TIMEOUT, "").strip()
    return int(text) / 1000 if text.isdecimal() and int(text) else _DEFAULT_SETUP_TIMEOUT


API_VERSIONS_REQUEST: Final = bytes.fromhex("0000000a 0012 0000 0d0a0d0a ffff")
"""An ApiVersions request, version 0, which every Kafka broker answers before authentication. Its correlation id is
`\\r\\n\\r\\n`, so that servers of protocols made of lines, such as HTTP, answer as well."""
_SIGN_LENGTH: Final = 9
"""Bytes of an answer that tell the protocol."""
_TIMEOUT: Final = 1.0
_SIGNS: Final = (
    (b"\x15\x03", "answers with TLS: set security.protocol=SSL or SASL_SSL, or name a listener without TLS"),
    (b"HTTP/", "answers with HTTP: this is a web server's port"),
    (b"<!DOCTYPE", "answers with HTTP: this is a web server's port"),
    (b"SSH-", "answers with SSH: this is no broker's port"),
)
_PLAIN: Final = ("", "PLAINTEXT", "SASL_PLAINTEXT")


def is_plaintext(properties: Mapping[str, str]) -> bool:
    """Whether a client with these properties would speak to a broker without TLS."""
    with_tls = "SSL://" in properties.get("bootstrap.servers", "")
    return not with_tls and properties.get("security.protocol", "").strip().upper() in _PLAIN


def foreign_protocol(connection: socket.socket) -> str | None:
    """Which protocol other than Kafka's is answered, in words that follow an address; else None.

    No answer is None, too: a broker may be slow, and the client has a timeout of its own.
    """
    connection.settimeout(_TIMEOUT)
    answer = b""
    try:
        connection.sendall(API_VERSIONS_REQUEST)
        while len(answer) < _SIGN_LENGTH and (more := connection.recv(_SIGN_LENGTH)):
            answer += more
    except OSError:  # no answer in time, or an error that the client will report
        pass
    return next((who for sign, who in _SIGNS if answer.startswith(sign)), None)
