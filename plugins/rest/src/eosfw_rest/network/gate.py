"""Who and what comes in: checked in front of the routes, so that a path that no route knows is closed as well."""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from eosfw_rest.authentication import Authentication
from eosfw_rest.messages import Answer, error_message
from eosfw_rest.network.forgery_check import ForgeryCheck
from eosfw_rest.network.host_check import HostCheck
from eosfw_rest.network.sending import Receive, Scope, Send, send_answer
from eosfw_rest.request_path import normalised_path, path_problem

_log = logging.getLogger(__name__)
_App = Callable[[Scope, Receive, Send], Awaitable[None]]
_InThread = Callable[[Callable[[], bool]], Awaitable[bool]]
_CLOSE: Final = {"Connection": "close"}
_CHALLENGE: Final = {"WWW-Authenticate": 'Basic realm="eosfw", Bearer'}
_RETRY: Final = {"Retry-After": "1"}
_MOST_SIGNING_IN: Final = 50
"""Passwords that wait to be checked, each for a twentieth of a second of a processor."""
_INTERNAL: Final = (("PUT", re.compile("/connectors/[^/]+/fence")), ("POST", re.compile("/connectors/[^/]+/tasks")))
_SIGNATURE: Final = b"x-connect-authorization"


class Gate:
    """An ASGI application around another: well-formed, then authenticated, then with an unambiguous path.

    `in_thread` checks a password, apart from the threads in which requests are answered: whoever guesses passwords
    keeps nobody waiting but those who sign in for the first time, and these not for long.

    Where nobody signs in, requests have to name the worker by a name of its own, for which `host_check` is.
    """

    def __init__(
        self,
        app: _App,
        authentication: Authentication | None,
        host_check: HostCheck,
        forgery_check: ForgeryCheck,
        in_thread: _InThread,
    ) -> None:
        self.app, self._authentication = app, authentication
        self._host_check, self._forgery_check = host_check, forgery_check
        self._in_thread = in_thread
        self._signing_in = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = framing_refusal(scope["headers"])
        if refusal is None and self._authentication is None:
            refusal = self._host_check.refusal(scope["headers"])
        if refusal is None:
            refusal = self._forgery_check.refusal(scope["method"], scope["headers"])
        if refusal is None:
            refusal = await self._sign_in_refusal(scope)
        raw = scope["raw_path"].decode("ascii", "replace")
        if refusal is None and (problem := path_problem(raw)):
            refusal = error_message(400, problem, _CLOSE)
        if refusal is not None:
            _log.warning("%s %r from %s: %d", scope["method"], raw[:200], scope["client"], refusal.status)
            await send_answer(refusal, send)
            return
        # A HEAD is a GET whose body the server leaves out.
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        await self.app({**scope, "path": normalised_path(raw), "method": method}, receive, send)

    async def _sign_in_refusal(self, scope: Scope) -> Answer | None:
        authentication = self._authentication
        if authentication is None or _is_signed(scope):
            return None
        given = _values(scope["headers"], b"authorization")
        admitted = authentication.admits_at_once(given)
        if admitted is None:
            if self._signing_in >= _MOST_SIGNING_IN:
                return error_message(503, "Too many passwords are being checked", _RETRY | _CLOSE)
            self._signing_in += 1
            try:
                admitted = await self._in_thread(lambda: authentication.admits(given))
            finally:
                self._signing_in -= 1
        return None if admitted else error_message(401, "Unauthorized", _CHALLENGE | _CLOSE)


def _is_signed(scope: Scope) -> bool:
    """Whether another worker claims to have sent it: then the herder checks its signature in place of a password."""
    raw = scope["raw_path"].decode("ascii", "replace")
    if path_problem(raw) or not _values(scope["headers"], _SIGNATURE):
        return False
    return any(scope["method"] == method and path.fullmatch(normalised_path(raw)) for method, path in _INTERNAL)


def framing_refusal(headers: Sequence[tuple[bytes, bytes]]) -> Answer | None:
    """The answer to a request whose end two readers could see at different places, or that hides its size."""
    lengths, encodings = _values(headers, b"content-length"), _values(headers, b"transfer-encoding")
    if lengths and encodings:
        return error_message(400, "Both Content-Length and Transfer-Encoding", _CLOSE)
    if len(_values(headers, b"authorization")) > 1:
        return error_message(400, "More than one Authorization header", _CLOSE)
    if any(one.strip().lower() != b"identity" for one in _values(headers, b"content-encoding")):
        return error_message(415, "Content-Encoding is not supported: send the body as it is", _CLOSE)
    return None


def _values(headers: Sequence[tuple[bytes, bytes]], wanted: bytes) -> list[bytes]:
    return [value for name, value in headers if name == wanted]
