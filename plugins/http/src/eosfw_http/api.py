"""An API, asked by GET."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from functools import cache
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

import httpx2

from eosfw.errors import DamagedDataError, RetriableError
from eosfw_http.answers import content, document, validators
from eosfw_http.authentication import login
from eosfw_http.errors import refusal, shown, unanswered
from eosfw_http.json_path import found

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from eosfw.config import Config

_NOT_MODIFIED: Final = 304
_OK: Final = 200
_NO_CONTENT: Final = 204
_UNAUTHORIZED: Final = 401
_ABSENT: Final = object()


@dataclass(frozen=True, slots=True)
class Answer:
    """A page that came."""

    url: httpx2.URL
    document: Any
    records: Sequence[dict[str, Any]]
    next_link: str | None
    validators: Mapping[str, str]
    """Headers that ask for this page only if it has changed."""


class Api:
    """The API of a configuration; connections are opened when they are needed."""

    def __init__(self, config: Config, clock: Callable[[], float] = monotonic) -> None:
        self._path: str = config["records.path"]
        self._most: int = config["response.max.bytes"]
        self._timeout: float = config["request.timeout.ms"] / 1000
        self._clock = clock
        self._client = httpx2.Client(timeout=self._timeout, headers={"Accept": "application/json"}, verify=_trust())
        self._login = login(config, clock)

    def get(self, url: httpx2.URL, unless: Mapping[str, str]) -> Answer | None:
        """The page at a URL; None if it has not changed, as the headers `unless` ask."""
        while True:
            try:
                with self._client.stream("GET", url, headers=unless, auth=self._login.auth(self._client)) as response:
                    if response.status_code != _UNAUTHORIZED or not self._login.refused():
                        return self._answer(url, response, unless)
            except (httpx2.TransportError, httpx2.DecodingError) as error:
                raise RetriableError(unanswered(error, url)) from None

    def close(self) -> None:
        """Close its connections."""
        self._client.close()

    def _answer(self, url: httpx2.URL, response: httpx2.Response, unless: Mapping[str, str]) -> Answer | None:
        if response.status_code == _NOT_MODIFIED and unless:
            return None
        if response.status_code == _NO_CONTENT:
            return Answer(url, None, [], None, {})
        if response.status_code != _OK:
            raise refusal(response, shown(url))
        until = self._clock() + self._timeout
        said = document(response, content(response, self._most, lambda: self._clock() > until), shown(url))
        records = found(said, self._path, _ABSENT)
        if records is None:  # some APIs have null for an empty list
            records = []
        if not isinstance(records, list) or not all(isinstance(one, dict) for one in records):
            where = self._path or "the answer"
            raise DamagedDataError(f"{shown(url)} has no list of objects at {where}; correct records.path")
        return Answer(url, said, records, response.links.get("next", {}).get("url"), validators(response.headers))


@cache
def _trust() -> ssl.SSLContext:
    """The certificates to trust; reading them takes longer than all else that a task does to start."""
    return httpx2.create_ssl_context()
