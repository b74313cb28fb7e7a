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
_BODY_SECONDS: Final = 30.0
_MOST_PARAMETERS: Final = 100
_CLOSE: Final = {"Connection": "close"}


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

    served = [Served(route.path, _endpoint(route, answering), methods=[route.method]) for route in own]
    app = Starlette(routes=[*served, Served("/openapi.json", describe), *routes], middleware=middleware)
    # The path comes without a last slash already.
    app.router.redirect_slashes = False
    app.add_exception_handler(HTTPException, _not_routed)
    return app


def _endpoint(route: Route, answering: Answering) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        try:
            body = await asyncio.wait_for(_body(request), _BODY_SECONDS)
        except TimeoutError:
            return _response(error_message(408, "The body of the request did not arrive in time", _CLOSE))
        if body is None:
            return _response(error_message(413, f"The body is larger than {_LARGEST_BODY} bytes", _CLOSE))
        if body and not _is_json(request):
            return _response(error_message(415, "HTTP 415 Unsupported Media Type"))
        try:
            values = _values(request, body)
        except ValueError:
            return _response(error_message(400, f"The query has more than {_MOST_PARAMETERS} parameters"))
        return _response(await answering(route, values))

    return endpoint


async def _body(request: Request) -> bytes | None:
    """The body; None for one that is too large, which is not read to its end."""
    declared = request.headers.get("content-length", "0")
    if declared.isdigit() and int(declared) > _LARGEST_BODY:
        return None
    pieces = bytearray()
    async for piece in request.stream():
        pieces += piece
        if len(pieces) > _LARGEST_BODY:
            return None
    return bytes(pieces)


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
