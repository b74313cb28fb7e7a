"""The public keys of an identity provider (RFC 7517), from its endpoint or a file. Kafka's `RefreshingHttpsJwks`.

Threads: one asks for the keys, the network's; a thread that lives as long as one request to the endpoint replaces them.
"""

from __future__ import annotations

import json
import logging
import ssl
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Final
from urllib.error import HTTPError, URLError
from urllib.parse import unquote, urlsplit
from urllib.request import Request

from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from eosfw.concurrency import Runtime
from eosfw.config.named_file import content_state, read_bytes
from eosfw.config.security import SecuritySettings
from eosfw.security import client_context, endpoint_opener

_LOG = logging.getLogger(__name__)
_LARGEST: Final = 1 << 20
_TIMEOUT: Final = 10.0
"""Seconds for one request: the start of a broker waits so long, too."""


class JsonWebKeysError(Exception):
    """There are no keys; why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonWebKeysConfig:
    """Where the keys are, and how often to look; times in seconds."""

    url: str
    refresh: float
    """After so long they are read again."""
    backoff: float
    """For a key that is not there they are read again, but not more often than this."""
    ca_location: str
    """The authorities of the endpoint; empty where this machine knows them."""


class JsonWebKeys:
    """The keys as they were read last."""

    def __init__(self, config: JsonWebKeysConfig, runtime: Runtime) -> None:
        """Read the keys; raise JsonWebKeysError."""
        self._config = config
        self._runtime = runtime
        self._lock = runtime.lock()
        self._reading = False
        self._seen = self._state_of_file()
        self._read_at = runtime.now()
        self._keys = _read(config)

    def current(self) -> KeySet:
        """The keys; those of a file as it is now, those of an endpoint as they were read last."""
        seen = self._state_of_file()
        if seen != self._seen:
            self._seen = seen
            self._replace()
        elif self._runtime.now() - self._read_at >= self._config.refresh:
            self._refresh()
        return self._keys

    def on_unknown_key(self) -> None:
        """Read the keys again in a moment, for a token that is signed with another one.

        Whoever sends tokens of his own invention causes no more than one request in the time of `backoff`.
        """
        if self._runtime.now() - self._read_at >= self._config.backoff:
            self._refresh()

    def _refresh(self) -> None:
        with self._lock:
            if self._reading or _path(self._config.url) is not None:
                return
            self._reading = True
        # On a thread of its own: the network's serves everybody else meanwhile.
        self._runtime.spawn("eosfw-json-web-keys", self._replace)

    def _replace(self) -> None:
        try:
            self._keys = _read(self._config)
        except JsonWebKeysError as why:
            _LOG.warning("the keys for tokens stay as they were: %s", why)
        finally:
            self._read_at = self._runtime.now()
            with self._lock:
                self._reading = False

    def _state_of_file(self) -> object:
        path = _path(self._config.url)
        return None if path is None else content_state(path)


def _path(url: str) -> Path | None:
    """The path of a `file` URL; None of others."""
    parts = urlsplit(url)
    return Path(unquote(parts.path)) if parts.scheme == "file" else None


def _read(config: JsonWebKeysConfig) -> KeySet:
    path = _path(config.url)
    try:
        body = _fetch(config) if path is None else read_bytes(path)
    except OSError as why:
        raise JsonWebKeysError(f"{config.url} cannot be read: {why.strerror}") from None
    try:
        return KeySet.import_key_set(json.loads(body))
    except (JoseError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise JsonWebKeysError(f"{config.url} has no JSON Web Key Set: is it the address of the keys?") from None


def _fetch(config: JsonWebKeysConfig) -> bytes:
    context = client_context(SecuritySettings(ca_location=config.ca_location))
    opener = endpoint_opener(context)
    request = Request(config.url, headers={"Accept": "application/json"})  # noqa: S310 - the scheme was checked with the property
    try:
        with opener.open(request, timeout=_TIMEOUT) as answer:
            body: bytes = answer.read(_LARGEST)
            return body
    except HTTPError as why:
        with why:
            raise JsonWebKeysError(f"{config.url} answered HTTP {why.code}: is it the address of the keys?") from None
    except (OSError, HTTPException) as why:
        raise JsonWebKeysError(_unreachable(config, why)) from None


def _unreachable(config: JsonWebKeysConfig, why: Exception) -> str:
    reason = why.reason if isinstance(why, URLError) else why
    if isinstance(reason, ssl.SSLCertVerificationError):
        trusted = config.ca_location or "this machine's store of authorities"
        return (
            f"the certificate of {config.url} is refused ({reason.verify_message}), by {trusted}: give the login "
            "module the option ssl.truststore.location"
        )
    text = getattr(reason, "strerror", None) or str(reason) or type(reason).__name__
    return f"{config.url} does not answer ({text}): is it running?"
