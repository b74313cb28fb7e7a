"""The checks that each form must pass before it may change anything."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qsl

import anyio
from starlette.requests import Request

from eosfw_console.security import COOKIE, forgery_problem
from eosfw_console.worker_client import RestError

_log = logging.getLogger(__name__)

_LARGEST: Final = 256_000
"""Bytes of a form: 50 offsets, or a connector with long queries, fit well below."""
_READ_ONLY: Final = "This console is read-only: rest.extension.classes.console.read.only is true on this worker."


BODY_SECONDS: Final = 30.0
"""Seconds for which a form is waited for."""


async def submitted_fields(request: Request, *, read_only: bool) -> Mapping[str, str]:
    """The fields of a form; RestError if the form may not change anything."""
    if read_only:
        raise RestError(403, _READ_ONLY)
    try:
        with anyio.fail_after(BODY_SECONDS):
            body = await _body(request)
    except TimeoutError:
        raise RestError(408, "The form did not arrive in time.") from None
    fields = dict(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True))
    if problem := forgery_problem(request.headers, request.cookies.get(COOKIE), fields.get("token", "")):
        _log.warning("a request to change %s is refused: %s", request.url.path, problem)
        raise RestError(403, f"Nothing was changed: {problem}.")
    return fields


async def _body(request: Request) -> bytes:
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > _LARGEST:
            raise RestError(413, "The form is too large.")
    return bytes(body)
