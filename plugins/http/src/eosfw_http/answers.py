"""What an answer holds: bytes up to a limit, JSON, headers that ask whether it has changed."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from math import isfinite
from typing import TYPE_CHECKING, Any, Final

from eosfw.errors import DamagedDataError, EosfwError, RetriableError
from eosfw_http.errors import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import httpx2

_LEAST_AGE: Final = timedelta(seconds=1)


def content(response: httpx2.Response, most: int, is_late: Callable[[], bool]) -> bytes:
    """The body of an answer that is being read; DamagedDataError beyond `most` bytes, RetriableError if it is late."""
    name = shown(response.request.url)
    parts, size = [], 0
    for part in response.iter_bytes():
        parts.append(part)
        size += len(part)
        if size > most:
            raise DamagedDataError(
                f"{name} answered with more than {most} bytes; ask for smaller pages, or raise response.max.bytes"
            )
        if is_late():
            raise RetriableError(f"{name} did not end its answer within request.timeout.ms")
    return b"".join(parts)


def document(response: httpx2.Response, body: bytes, name: str) -> Any:
    """The JSON of an answer."""
    try:
        return json.loads(body, parse_constant=_no_constant, parse_float=_finite)
    except (ValueError, RecursionError):
        raise _no_json(response, name) from None


def validators(headers: httpx2.Headers) -> Mapping[str, str]:
    """The headers that ask for an answer with these headers only if it has changed."""
    asked = {}
    if "ETag" in headers:
        asked["If-None-Match"] = headers["ETag"]
    if "Last-Modified" in headers and _is_strong(headers["Last-Modified"], headers.get("Date")):
        asked["If-Modified-Since"] = headers["Last-Modified"]
    # Others cannot be sent back.
    return {name: text for name, text in asked.items() if text.isascii()}


def _is_strong(modified: str, date: str | None) -> bool:
    """Whether what changes now gets another time: it has whole seconds (RFC 9110, 8.8.2.2)."""
    try:
        return date is not None and _moment(date) - _moment(modified) >= _LEAST_AGE
    except (TypeError, ValueError, OverflowError):
        return False


def _moment(text: str) -> datetime:
    return parsedate_to_datetime(text)


def _no_json(response: httpx2.Response, name: str) -> EosfwError:
    if "Content-Length" in response.headers or "Transfer-Encoding" in response.headers:
        return DamagedDataError(f"{name} answered with what is no JSON; correct url")
    # Nothing says that the answer is whole: the server may have died.
    return RetriableError(f"{name} answered with what is no JSON, or with a part of it; if it stays so, correct url")


def _no_constant(text: str) -> None:
    raise ValueError(text)


def _finite(text: str) -> float:
    number = float(text)
    if not isfinite(number):
        raise ValueError(text)
    return number
