"""What answers of an API mean: try again, or a sentence with what to do."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from eosfw.errors import ConfigError, EosfwError, Problem, RetriableError

if TYPE_CHECKING:
    import httpx2

_PASSING: Final = frozenset({408, 425, 429})
"""Refusals that pass by themselves: the timeout, the request that came too early, the rate limit."""
_SERVER_ERROR: Final = 500
_REDIRECTION: Final = range(300, 400)
_REMEDIES: Final = {
    401: ("auth.type", "give what it asks for by auth.type"),
    403: ("auth.type", "give the user the right to read"),
    404: ("url", "correct the URL"),
    410: ("url", "what was asked for is gone: correct the URL, or reset the connector's offsets"),
}


def refusal(response: httpx2.Response, name: str, now: datetime | None = None) -> EosfwError:
    """The error of an answer that is no success; `name` is the API's URL without its query."""
    status = response.status_code
    said = f"{name} answered {status}{_phrase(status)}"
    if status in _PASSING or status >= _SERVER_ERROR:
        return RetriableError(said, retry_after=retry_after(response.headers.get("Retry-After"), now))
    if status in _REDIRECTION:
        return ConfigError(Problem("url", f"{said}; redirections are not followed, so write the URL behind it"))
    about, remedy = _REMEDIES.get(status, ("query.parameters", "correct the parameters, or reset the offsets"))
    return ConfigError(Problem(about, f"{said}; {remedy}"))


def retry_after(text: str | None, now: datetime | None = None) -> float | None:
    """The seconds that a header `Retry-After` says, as a number or as a date; None for none."""
    if text is None:
        return None
    if text.strip().isdecimal():
        seconds = float(text)
        return seconds if seconds < float("inf") else None
    try:
        moment = parsedate_to_datetime(text)
    except (TypeError, ValueError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - (now or datetime.now(UTC))).total_seconds())


def shown(url: httpx2.URL) -> str:
    """A URL for messages: without user, password, query, which may be secret."""
    return str(url.copy_with(userinfo=b"", query=None, fragment=None))


def _phrase(status: int) -> str:
    try:
        return f" {HTTPStatus(status).phrase}"
    except ValueError:
        return ""
