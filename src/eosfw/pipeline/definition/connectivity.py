"""The check, within moments, that a broker listens at an address of `bootstrap.servers`, and takes these clients."""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, NamedTuple

from eosfw.concurrency import Queue, Runtime
from eosfw.config.addresses import Address, parse_address, parse_addresses
from eosfw.config.security import SecurityProtocol, SecuritySettings, security_settings
from eosfw.errors import AuthenticationError, ClusterUnavailableError, ConfigError, Problem
from eosfw.security import confirmed_check, first_bytes, is_kafka, is_tls, protocol_of, require_usable_files

SETUP_TIMEOUT = "socket.connection.setup.timeout.ms"
"""Kafka's name for how long one connection may take to open."""
_DEFAULT_SETUP_TIMEOUT = 10.0
_START_TIME = 1.0
"""Seconds in which a refused connection is tried again: the broker may be about to start."""
_PAUSE = 0.1
_REFUSAL_WAIT = 1.0
"""Seconds in which another address may still be reached, once a broker has refused these properties."""


_Refusal = str | AuthenticationError | None


class _Attempt(NamedTuple):
    address: Address
    refusal: _Refusal


def require_addresses(where: str, servers: str, given: str = "") -> None:
    """Raise ConfigError, which begins with `where`, unless every address of `bootstrap.servers` is written HOST:PORT.

    Some clients treat a host without port as one that does not answer, and wait. `given` is the text of the user.
    """
    each = [text.strip() for text in servers.split(",")]
    wrong = [text for text in each if text and not _possible(parse_address(text))]
    if wrong or not any(each):
        shown = given or ", ".join(map(repr, wrong)) or "no address"
        raise ConfigError(Problem(where, f"{shown}: write HOST:PORT, with a port between 1 and 65535"))


def require_reachable(properties: Mapping[str, str], runtime: Runtime) -> None:
    """Return once one address of `bootstrap.servers` takes this client; else ClusterUnavailableError says why.

    Clients of Kafka try again for as long as one call may take, since a broker may come back. That is right during a
    run and wrong for a mistyped port. So a refused connection, or an unknown host, is final after a second; no reaction
    is final after `socket.connection.setup.timeout.ms`. AuthenticationError if a broker refuses the security
    properties, twice, and no other address takes them. Whether a broker that accepts also answers is left to the
    client, within `default.api.timeout.ms`. An answer in another protocol is named.
    """
    each_address = parse_addresses(properties.get("bootstrap.servers", ""))
    if not each_address:
        return
    settings = security_settings(properties)
    require_usable_files(settings)
    patience = _setup_timeout(properties)
    answers: Queue[_Attempt] = runtime.queue()
    for address in each_address:
        attempt = partial(_refusal, address, patience, None if _tls_by_scheme(properties) else settings, runtime)
        runtime.spawn(f"eosfw-reach-{address}", partial(_try, address, attempt, patience, answers, runtime))
    refusals: dict[Address, str] = dict.fromkeys(each_address, f"nothing within {patience:g} s")
    unauthenticated: AuthenticationError | None = None
    deadline = runtime.now() + patience + _START_TIME
    for _ in each_address:
        try:
            tried = answers.get(max(0.0, deadline - runtime.now()))
        except TimeoutError:  # a name is still being looked up, which cannot be interrupted
            break
        if tried.refusal is None:
            return
        if isinstance(tried.refusal, AuthenticationError):
            unauthenticated = unauthenticated or tried.refusal
            deadline = min(deadline, runtime.now() + _REFUSAL_WAIT)
        else:
            refusals[tried.address] = tried.refusal
    if unauthenticated is not None:
        raise unauthenticated
    shown = ", ".join(f"{address} ({why})" for address, why in refusals.items())
    raise ClusterUnavailableError(f"no broker listens at {shown}; is the cluster running, is bootstrap.servers right?")


def _try(
    address: Address, attempt: Callable[[], _Refusal], patience: float, answers: Queue[_Attempt], runtime: Runtime
) -> None:
    final = runtime.now() + min(patience, _START_TIME)
    while isinstance(refusal := attempt(), str) and runtime.now() < final:
        runtime.sleep(_PAUSE)
    answers.put(_Attempt(address, refusal))


def _refusal(address: Address, patience: float, settings: SecuritySettings | None, runtime: Runtime) -> _Refusal:
    try:
        with socket.create_connection(address, timeout=patience) as connection:
            plain = settings is not None and settings.protocol is SecurityProtocol.PLAINTEXT
            answer = first_bytes(connection) if plain else b""
    except TimeoutError:
        return f"nothing within {patience:g} s"
    except (OSError, ValueError, OverflowError) as error:
        # The last two are raised for a malformed name, and for a port above 65,535.
        return getattr(error, "strerror", None) or str(error)
    if settings is None or (plain and not is_kafka(answer) and not is_tls(answer)):
        return protocol_of(answer)
    return _refused_properties(address, settings, runtime)


def _refused_properties(address: Address, settings: SecuritySettings, runtime: Runtime) -> AuthenticationError | None:
    try:
        confirmed_check(address, settings, runtime)
    except AuthenticationError as refused:
        return refused
    except OSError:  # nothing certain: the client, which waits longer, finds out
        pass
    return None


def _tls_by_scheme(properties: Mapping[str, str]) -> bool:
    return "SSL://" in properties.get("bootstrap.servers", "")


def _possible(address: Address | None) -> bool:
    return address is not None and 0 < address.port <= 65535


def _setup_timeout(properties: Mapping[str, str]) -> float:
    text = properties.get(SETUP_TIMEOUT, "").strip()
    return int(text) / 1000 if text.isdecimal() and int(text) else _DEFAULT_SETUP_TIMEOUT


_PLAIN: Final = ("", "PLAINTEXT", "SASL_PLAINTEXT")


def is_plaintext(properties: Mapping[str, str]) -> bool:
    """Whether a client with these properties would speak to a broker without TLS."""
    return not _tls_by_scheme(properties) and properties.get("security.protocol", "").strip().upper() in _PLAIN
