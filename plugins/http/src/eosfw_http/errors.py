"""What answers of an API mean: try again, or a sentence with what to do."""

from __future__ import annotations

import ssl
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Final

import httpx2

from eosfw.errors import ConfigError, EosfwError, Problem, RetriableError

_PASSING: Final = frozenset({408, 425, 429})
"""Refusals that pass by themselves: the timeout, the request that came too early, the rate limit."""
_FORBIDDEN: Final = 403
_TOO_MANY: Final = 429
_SERVER_ERROR: Final = 500
_REDIRECTION: Final = range(300, 400)
_REMEDIES: Final = {
    401: ("auth.type", "give what it asks for by auth.type"),
    403: ("auth.type", "give the user the right to read"),
    404: ("url", "correct the URL"),
    410: ("url", "what was asked for is gone: correct the URL, or reset the connector's offsets"),
}
_ENDS: Final = (
    ("without sending complete message body", "cut its answer off"),
    ("without sending a response", "closed the connection without an answer"),
)
"""By words of h11 and httpcore, what a server did."""
_LONGEST: Final = 86_400.0
"""Seconds to wait at most, whatever a header says."""
_REMAINING: Final = ("RateLimit-Remaining", "X-RateLimit-Remaining", "X-Rate-Limit-Remaining")
_RESETS: Final = ("RateLimit-Reset", "X-RateLimit-Reset", "X-Rate-Limit-Reset")
_FIRST_MOMENT: Final = 1_000_000_000.0
"""In such headers, more are seconds since 1970, less are seconds to wait."""


def refusal(response: httpx2.Response, name: str, now: datetime | None = None) -> EosfwError:
    """The error of an answer that is no success; `name` is the API's URL without its query."""
    status = response.status_code
    said = f"{name} answered {status}{_phrase(status)}"
    if is_passing(response):
        return RetriableError(said, retry_after=_wait(response, now or datetime.now(UTC)))
    if status in _REDIRECTION:
        return ConfigError(Problem("url", f"{said}; redirections are not followed, so write the URL behind it"))
    about, remedy = _REMEDIES.get(status, ("query.parameters", "correct the parameters, or reset the offsets"))
    return ConfigError(Problem(about, f"{said}; {remedy}"))


def is_passing(response: httpx2.Response) -> bool:
    """Whether the same request may be answered later."""
    status = response.status_code
    limited = _is_exhausted(response.headers) or "Retry-After" in response.headers
    return status in _PASSING or status >= _SERVER_ERROR or (status == _FORBIDDEN and limited)


def retry_after(text: str | None, now: datetime) -> float | None:
    """The seconds that a header `Retry-After` says, as a number or as a date; None for none."""
    if text is None:
        return None
    if text.strip().isdecimal():
        return min(float(text), _LONGEST)
    try:
        moment = parsedate_to_datetime(text)
    except (TypeError, ValueError, OverflowError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return min(max(0.0, (moment - now).total_seconds()), _LONGEST)


def unanswered(error: httpx2.RequestError, url: httpx2.URL) -> str:
    """Why nothing came."""
    with suppress(RuntimeError):
        url = error.request.url  # that of the tokens, perhaps
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, ssl.SSLCertVerificationError):
        cause = cause.__cause__ or cause.__context__
    if cause is not None:
        reason = "its certificate is not trusted, see SSL_CERT_FILE"
    elif (broken := _broken_answer(error)) is not None:
        return f"{shown(url)} {broken}"
    else:  # of the other errors some have headers in their texts
        reason = str(error) if isinstance(error, httpx2.ConnectError) and str(error) else type(error).__name__
    return f"{shown(url)} does not answer: {reason}"


def _broken_answer(error: httpx2.RequestError) -> str | None:
    """What a server did that began to answer, or closed the connection; None if it did neither."""
    if isinstance(error, httpx2.DecodingError):
        return "answered with what cannot be decompressed"
    if not isinstance(error, httpx2.RemoteProtocolError):
        return None
    ends = (said for words, said in _ENDS if words in str(error))
    return next(ends, "answered with what is no HTTP")


def shown(url: httpx2.URL) -> str:
    """A URL for messages: without user, password, query, which may be secret."""
    return str(url.copy_with(userinfo=b"", query=None, fragment=None))


def _is_exhausted(headers: httpx2.Headers) -> bool:
    """Whether there were too many requests, as GitHub says it."""
    return any(headers.get(name) == "0" for name in _REMAINING)


def _wait(response: httpx2.Response, now: datetime) -> float | None:
    headers = response.headers
    said = retry_after(headers.get("Retry-After"), now)
    # Many APIs say with every answer when they begin to count anew.
    counts = response.status_code == _TOO_MANY or _is_exhausted(headers)
    for name in _RESETS if counts else ():
        if said is None and headers.get(name, "").isdecimal():
            seconds = float(headers[name])
            said = min(max(0.0, seconds - now.timestamp() if seconds > _FIRST_MOMENT else seconds), _LONGEST)
    return said


def _phrase(status: int) -> str:
    try:
        return f" {HTTPStatus(status).phrase}"
    except ValueError:
        return ""
