"""A client of Kafka Connect's REST interface, with the errors of this command line."""

from __future__ import annotations

import base64
import json
import os
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPException, IncompleteRead
from typing import Annotated, Any
from urllib.error import HTTPError, URLError
from urllib.parse import SplitResult, quote, urlsplit
from urllib.request import OpenerDirector, Request

import typer

from eosfw.cli.parsing.limits import seconds
from eosfw.errors import (
    AlreadyExistsError,
    BadRequestError,
    ClusterUnavailableError,
    ConfigError,
    EosfwError,
    NotFoundError,
    Problem,
    RebalanceNeededError,
    RequestTimeoutError,
)
from eosfw.security import endpoint_opener

TOKEN, USER, PASSWORD = "EOSFW_REST_TOKEN", "EOSFW_REST_USER", "EOSFW_REST_PASSWORD"
_NOT_FOUND, _CONFLICT, _SERVER_ERROR = 404, 409, 500
_DENIED = (401, 403)
_NO_TLS = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "HTTP_REQUEST")
"""How releases of OpenSSL call an answer that is not TLS."""


@dataclass(frozen=True, slots=True)
class RestTarget:
    """Which worker the command line names; any worker of a group answers."""

    url: Annotated[
        str, typer.Option("--url", envvar="EOSFW_REST_URL", metavar="URL", help="A worker's REST interface.")
    ] = "http://127.0.0.1:8083"
    ca: Annotated[
        str | None, typer.Option("--ca", metavar="FILE", help="Certificates to trust, if not the system's.")
    ] = None
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds that one request may take.", callback=seconds)] = 95.0


class RestClient:
    """Sends requests to one worker. Credentials come from the environment, never from the command line.

    Every process of a machine can read a command line. EOSFW_REST_TOKEN is a bearer token, EOSFW_REST_USER and
    EOSFW_REST_PASSWORD are for basic authentication.
    """

    def __init__(self, target: RestTarget, *, credentials: bool = True) -> None:
        parts = _parts(target.url)
        if parts is None or parts.scheme not in ("http", "https") or not parts.hostname:
            raise ConfigError(Problem("--url", f"{_without_user(target.url)!r} is no URL such as http://HOST:8083"))
        if parts.username is not None:
            raise ConfigError(Problem("--url", f"a URL holds no credentials here: set {USER} and {PASSWORD}"))
        self._url, self._timeout = target.url.rstrip("/"), target.timeout
        self._headers = {"Accept": "application/json", **(_credentials(os.environ) if credentials else {})}
        self._opener = _opener(target.ca)

    def get(self, *path: str, **query: str) -> Any:
        """The answer to a GET of these path segments."""
        return self.request("GET", path, query=query)

    def request(
        self, method: str, path: tuple[str, ...], body: object = None, query: Mapping[str, str] | None = None
    ) -> Any:
        """The JSON of the answer, None if it has none; an EosfwError that says what the worker answered."""
        url = self._address(path, query or {})
        return _parsed(self._sent(method, url, body), url)

    def text(self, *path: str) -> str:
        """The answer to a GET of these path segments that is no JSON, such as metrics."""
        return self._sent("GET", self._address(path, {}), None).decode("utf-8", "replace")

    def _address(self, path: tuple[str, ...], query: Mapping[str, str]) -> str:
        url = "/".join([self._url, *(quote(segment, safe="") for segment in path)])
        given = "&".join(f"{name}={quote(value, safe='')}" for name, value in query.items())
        return f"{url}?{given}" if given else url

    def _sent(self, method: str, url: str, body: object) -> bytes:
        data = None if body is None else json.dumps(body).encode()
        headers = self._headers if data is None else {**self._headers, "Content-Type": "application/json"}
        request = Request(url, data, headers, method=method)  # noqa: S310 (the scheme was checked)
        try:
            with self._opener.open(request, timeout=self._timeout) as answer:
                found: bytes = answer.read()
                return found
        except HTTPError as answer:
            raise _refusal(answer.code, _message(_body(answer))) from None
        except TimeoutError:
            raise RequestTimeoutError(f"{self._url} did not answer within {self._timeout:g} s") from None
        except (URLError, HTTPException, OSError) as why:
            raise ClusterUnavailableError(self._unreachable(getattr(why, "reason", why))) from None

    def _unreachable(self, reason: object) -> str:
        if isinstance(reason, ssl.SSLCertVerificationError):
            refused = f"the certificate of the worker at {self._url} is refused: {reason.verify_message}"
            return f"{refused}; name the file of its authority with --ca"
        if isinstance(reason, ssl.SSLError) and reason.reason in _NO_TLS:
            return f"the worker at {self._url} does not speak TLS: its URL begins with http://"
        if isinstance(reason, ConnectionResetError) and self._url.startswith("http://"):
            # RemoteDisconnected, too: so ends a connection to a port that speaks TLS.
            return (
                f"{self._url} closes the connection without an answer: if it speaks TLS, its URL begins with https://"
            )
        return f"no worker answers at {self._url}: {reason}; start one with `eosfw worker`, or name one with --url"


def is_same_host(url: str, other: str) -> bool:
    """Whether what is meant for one URL may be told to the other: it is of that host, and no less protected."""
    one, two = _parts(url), _parts(other)
    return one is not None and two is not None and (one.scheme, one.hostname) == (two.scheme, two.hostname)


def _opener(ca: str | None) -> OpenerDirector:
    try:
        context = ssl.create_default_context(cafile=ca)
    except OSError as why:
        raise ConfigError(Problem("--ca", f"{ca!r} cannot be read as certificates: {why.strerror or why}")) from None
    return endpoint_opener(context)


def _credentials(environment: Mapping[str, str]) -> dict[str, str]:
    if TOKEN in environment:
        # Files of secrets mostly end in a line end.
        token = environment[TOKEN].strip()
        if not (token.isascii() and token.isprintable()):
            # Nothing of it is shown, as the client of HTTP would do that refuses such a header.
            raise ConfigError(Problem(TOKEN, "a token is of printable ASCII characters alone"))
        return {"Authorization": f"Bearer {token}"}
    if USER not in environment:
        return {}
    pair = f"{environment[USER]}:{environment.get(PASSWORD, '')}"
    # Bytes that are no UTF-8 are sent as they were given.
    encoded = base64.b64encode(pair.encode(errors="surrogateescape")).decode()
    return {"Authorization": f"Basic {encoded}"}


def _parts(url: str) -> SplitResult | None:
    """The parts of a URL; None for a text that no request could be sent to."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return None
    return parts if url.isascii() and url.isprintable() and " " not in url else None


def _without_user(url: str) -> str:
    return url.rpartition("@")[2]


def _parsed(body: bytes, url: str) -> Any:
    if not body:
        return None
    try:
        return json.loads(body)
    except ValueError:
        raise ClusterUnavailableError(
            f"{url} does not answer with JSON: is it Kafka Connect's REST interface?"
        ) from None


def _body(answer: HTTPError) -> bytes:
    """The body of a refusal, which counts also where the worker ended before it was complete."""
    try:
        return answer.read()
    except IncompleteRead as cut:
        return cut.partial
    except (HTTPException, OSError):
        return b""


def _message(body: bytes) -> str:
    try:
        return str(json.loads(body)["message"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return body[:200].decode(errors="replace").strip() or "no reason given"


def _refusal(status: int, message: str) -> EosfwError:
    if status in _DENIED:
        return BadRequestError(
            f"the worker refuses these credentials ({status}): set {TOKEN}, or {USER} and {PASSWORD}"
        )
    if status == _NOT_FOUND:
        return NotFoundError(message)
    if status == _CONFLICT:
        return AlreadyExistsError(message) if "already exists" in message else RebalanceNeededError(message)
    if status >= _SERVER_ERROR:
        return RequestTimeoutError(f"the worker failed ({status}): {message}")
    return BadRequestError(message)
