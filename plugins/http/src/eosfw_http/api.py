"""An API, asked by GET."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import httpx2

from eosfw.errors import DamagedDataError, RetriableError
from eosfw_http.authentication import authentication
from eosfw_http.errors import refusal, shown
from eosfw_http.json_path import found

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from eosfw.config import Config

_NOT_MODIFIED: Final = 304
_OK: Final = 200
_VALIDATORS: Final = (("ETag", "If-None-Match"), ("Last-Modified", "If-Modified-Since"))


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

    def __init__(self, config: Config) -> None:
        self._path: str = config["records.path"]
        self._client = httpx2.Client(
            auth=authentication(config), timeout=config["request.timeout.ms"] / 1000, headers={"Accept": _JSON}
        )

    def get(self, url: httpx2.URL, validators: Mapping[str, str]) -> Answer | None:
        """The page at a URL; None if it has not changed."""
        name = shown(url)
        try:
            response = self._client.get(url, headers=validators)
        except httpx2.UnsupportedProtocol:
            raise DamagedDataError(f"{name} is no URL of http or https; correct url") from None
        except (httpx2.TransportError, httpx2.DecodingError) as error:
            raise RetriableError(f"{name} does not answer: {type(error).__name__}") from None
        if response.status_code == _NOT_MODIFIED and validators:
            return None
        if response.status_code != _OK:
            raise refusal(response, name)
        return self._answer(response, url, name)

    def close(self) -> None:
        """Close its connections."""
        self._client.close()

    def _answer(self, response: httpx2.Response, url: httpx2.URL, name: str) -> Answer:
        try:
            document = json.loads(response.content, parse_constant=_no_constant)
        except (ValueError, RecursionError):
            raise DamagedDataError(f"{name} answered with what is no JSON; correct url") from None
        records = found(document, self._path)
        if not isinstance(records, list) or not all(isinstance(one, dict) for one in records):
            where = self._path or "the answer"
            raise DamagedDataError(f"{name} has no list of objects at {where}; correct records.path")
        asked = {
            header: response.headers[validator] for validator, header in _VALIDATORS if validator in response.headers
        }
        return Answer(url, document, records, response.links.get("next", {}).get("url"), asked)


_JSON: Final = "application/json"


def _no_constant(text: str) -> None:
    raise ValueError(text)
