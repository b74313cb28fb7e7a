"""The routes as an ASGI application."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final
from urllib.parse import parse_qs

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute
from starlette.routing import Route as Served

from eosfw_rest.messages import Answer, RestRequest, error_message
from eosfw_rest.network.sending import body_of, headers_of
from eosfw_rest.openapi import openapi
from eosfw_rest.routes import Route

Answering = Callable[[Route, RestRequest], Awaitable[Answer]]
_LARGEST_BODY: Final = 8 * 2**20
_SMALL_BODY: Final = 64 * 2**10
_LARGE_BODIES: Final = 64 * 2**20
"""Bytes that all larger bodies may take together: what other workers sign is read before its signature is checked, and
there may be a thousand connections. Small ones are always taken."""
_BODY_SECONDS: Final = 30.0
_MOST_PARAMETERS: Final = 100
_CLOSE: Final = {"Connection": "close"}
_TOO_LARGE: Final = error_message(413, f"The body is larger than {_LARGEST_BODY} bytes", _CLOSE)
_STOPPED: Final = error_message(500, "The worker stops; the request may or may not have been done", _CLOSE)
_NOT_READ: Final = error_message(503, "The worker stops; ask another one of its group", {"Retry-After": "1", **_CLOSE})
_TOO_MANY: Final = error_message(503, "Too many large bodies at once", {"Retry-After": "1", **_CLOSE})


def application(
    answering: Answering,
    version: str,
    own: Sequence[Route],
    routes: Sequence[BaseRoute] = (),
    middleware: Sequence[Middleware] = (),
) -> Starlette:
    """The application with routes of its `own`, whose handlers `answering` calls, and what extensions bring."""
    described = Answer(body=openapi(own, version))

    async def describe(_: Request) -> Response:
        return _response(described)

    bodies = _LargeBodies()
    served = [Served(route.path, _endpoint(route, answering, bodies), methods=[route.method]) for route in own]
    app = Starlette(routes=[*served, Served("/openapi.json", describe), *routes], middleware=middleware)
    # The path comes without a last slash already.
    app.router.redirect_slashes = False
    app.add_exception_handler(HTTPException, _not_routed)
    return app


class _LargeBodies:
    """Counts the bytes of the large bodies that are being read or dealt with; on the thread of the event loop alone."""

    def __init__(self) -> None:
        self._size = 0

    def take(self, size: int) -> bool:
        """Whether there is room for so many more bytes, which then count until they are released."""
        fits = self._size + size <= _LARGE_BODIES
        self._size += size if fits else 0
        return fits

    def release(self, size: int) -> None:
        """Make room for others again."""
        self._size -= size


def _endpoint(route: Route, answering: Answering, bodies: _LargeBodies) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        body = _Body(request, bodies)
        try:
            return await answer(request, body)
        except asyncio.CancelledError:
            return _response(_NOT_READ if route.method == "GET" else _STOPPED)
        finally:
            body.release()

    async def answer(request: Request, body: _Body) -> Response:
        try:
            refusal = await asyncio.wait_for(body.read(), _BODY_SECONDS)
        except TimeoutError:
            refusal = error_message(408, "The body of the request did not arrive in time", _CLOSE)
        if refusal is None and body.content and not _is_json(request):
            refusal = error_message(415, "HTTP 415 Unsupported Media Type")
        if refusal is not None:
            return _response(refusal)
        try:
            values = _values(request, bytes(body.content))
        except ValueError:
            return _response(error_message(400, f"The query has more than {_MOST_PARAMETERS} parameters"))
        return _response(await answering(route, values))

    return endpoint


class _Body:
    """The body of one request."""

    def __init__(self, request: Request, bodies: _LargeBodies) -> None:
        self._request, self._bodies = request, bodies
        self._counted = 0
        self.content = bytearray()

    async def read(self) -> Answer | None:
        """Read all of it; the answer to one that is too large, which is not read to its end."""
        declared = self._request.headers.get("content-length", "0")
        if declared.isdigit() and int(declared) > _LARGEST_BODY:
            return _TOO_LARGE
        async for piece in self._request.stream():
            self.content += piece
            size = len(self.content)
            if size > _LARGEST_BODY:
                return _TOO_LARGE
            if size > _SMALL_BODY:
                if not self._bodies.take(size - self._counted):
                    return _TOO_MANY
                self._counted = size
        return None

    def release(self) -> None:
        """Count it no longer."""
        self._bodies.release(self._counted)


def _is_json(request: Request) -> bool:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower() == "application/json"


def _values(request: Request, body: bytes) -> RestRequest:
    """The request as handlers get it; ValueError for a query of too many parameters."""
    query = request.scope["query_string"].decode("latin-1")
    return RestRequest(
        method=request.method,
        target=request.scope["raw_path"].decode("ascii") + (f"?{query}" if query else ""),
        parameters=dict(request.path_params),
        query=parse_qs(query, keep_blank_values=True, max_num_fields=_MOST_PARAMETERS),
        headers=dict(request.headers),
        body=body,
    )


def _response(answer: Answer) -> Response:
    body = body_of(answer)
    return Response(body, answer.status, headers_of(answer, body))


async def _not_routed(_: Request, error: Exception) -> Response:
    status, phrase = (404, "Not Found")
    headers: dict[str, str] = {}
    if isinstance(error, HTTPException):
        status, phrase, headers = error.status_code, error.detail, dict(error.headers or {})
    return _response(error_message(status, f"HTTP {status} {phrase}", headers))
