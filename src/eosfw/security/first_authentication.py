"""The first contact of a backend's clients with their cluster: the only one whose refusal is final.

Kafka's own clients fail for good when authentication fails. A client that waits for a broker to come back must not:
while brokers restart, certificates are renewed or passwords change, refusals pass. So what a broker refuses is an
error of the configuration only as long as the same properties have never led to a broker, and was refused twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from eosfw.concurrency import Runtime
from eosfw.config.addresses import Address, parse_addresses
from eosfw.config.security import SECURITY_NAMES, SecuritySettings, layered, security_settings
from eosfw.errors import AuthenticationError
from eosfw.security.check import check_connection
from eosfw.security.oauthbearer import TokenProvider

_SERVERS: Final = "bootstrap.servers"
_STEP: Final = 1.5
"""Seconds that one step of one connection may take; a slow broker is left to the client, which waits longer."""
_LONGEST: Final = 4.0
"""Seconds for all addresses: the answer is to come within 5."""
_PAUSE: Final = 0.5
"""Seconds after which a refusal is asked for again."""
_AGAIN: Final = 5.0
"""Seconds after which a broker that could not be asked is asked again."""
_BEGINNING: Final = 60.0
"""Seconds after which nothing is a first contact any more: the client may have reached a broker by itself."""


def confirmed_check(address: Address, settings: SecuritySettings, runtime: Runtime, timeout: float = _STEP) -> None:
    """`check_connection`, whose refusal counts once it came twice."""
    try:
        check_connection(address, settings, timeout)
    except AuthenticationError:
        runtime.sleep(_PAUSE)
        check_connection(address, settings, timeout)


class FirstAuthentication:
    """The first contact with one set of properties; threads may share it."""

    def __init__(self, properties: Mapping[str, str], runtime: Runtime) -> None:
        self._properties = dict(properties)
        self._runtime = runtime
        self._lock = runtime.lock()
        self._is_made = False
        self._next = float("-inf")
        self._end: float | None = None
        self._refusal: str | None = None
        self._ask_again = float("-inf")
        self._tokens: TokenProvider | None = None

    @property
    def servers(self) -> str:
        """`bootstrap.servers`."""
        return self._properties.get(_SERVERS, "")

    @property
    def settings(self) -> SecuritySettings:
        """What the security properties mean."""
        return security_settings(self._properties)

    @property
    def tokens(self) -> TokenProvider | None:
        """The tokens of clients that log in with OAUTHBEARER, who share them."""
        settings = self.settings
        if not settings.oauthbearer.token_endpoint:
            return None
        with self._lock:
            if self._tokens is None:
                self._tokens = TokenProvider(settings.oauthbearer, self._runtime)
            return self._tokens

    def require(self) -> None:
        """Raise AuthenticationError if the cluster refuses these properties and has never taken them.

        Returns at once when they have led to a broker, and if that cannot be told now. A client without TLS and SASL
        is refused by a listener that requires them.
        """
        if self._is_made or self._runtime.now() < self._next:
            return
        with self._lock:
            if self._is_made or self._runtime.now() < self._next:
                return
            settings, now = self.settings, self._runtime.now()
            self._end = now + _BEGINNING if self._end is None else self._end
            self._is_made = now >= self._end or self._reached(settings)
            self._next = self._runtime.now() + _AGAIN

    def refusal(self) -> str | None:
        """Why the cluster refuses this client now; None if one address takes it, or if that cannot be told.

        Asked at most every 5 s, for the text of an error about a cluster that does not answer.
        """
        settings, now = self.settings, self._runtime.now()
        if not (settings.protocol.tls or settings.protocol.sasl):
            return None
        with self._lock:
            if now >= self._ask_again:
                self._refusal, self._ask_again = self._refusal_of(settings), now + _AGAIN
            return self._refusal

    def _refusal_of(self, settings: SecuritySettings) -> str | None:
        refusals = []
        for address in parse_addresses(self.servers):
            try:
                check_connection(address, settings, _STEP)
            except AuthenticationError as why:
                refusals.append(str(why))
            except OSError:
                continue
            else:
                return None
        return next(iter(refusals), None)

    def _reached(self, settings: SecuritySettings) -> bool:
        refusal: AuthenticationError | None = None
        deadline = self._runtime.now() + _LONGEST
        for address in parse_addresses(self._properties.get(_SERVERS, "")):
            if self._runtime.now() >= deadline:
                break
            try:
                confirmed_check(address, settings, self._runtime)
            except AuthenticationError as why:
                refusal = refusal or why
            except OSError:
                continue
            else:
                return True
        if refusal is not None:
            raise refusal
        return False


class FirstAuthentications:
    """The first contacts of one backend, by the addresses and the security properties of its clients."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._lock = runtime.lock()
        self._each: dict[frozenset[tuple[str, str]], FirstAuthentication] = {}

    def of(self, *layers: Mapping[str, str]) -> FirstAuthentication:
        """The first contact of a client with these properties; clients with the same ones share it."""
        given = layered(*layers)
        own = {name: text for name, text in given.items() if name in SECURITY_NAMES or name == _SERVERS}
        with self._lock:
            return self._each.setdefault(frozenset(own.items()), FirstAuthentication(own, self._runtime))
