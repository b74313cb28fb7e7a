"""The routes as an ASGI application that describes itself in OpenAPI."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final
from urllib.parse import parse_qs

from fastapi import FastAPI, Request, Response
from starlette.exceptions import HTTPException

from eosfw_rest.messages import Answer, RestRequest, error_message
from eosfw_rest.network.sending import body_of, headers_of
from eosfw_rest.routes import ROUTES, Route

__all__ = ["Answering", "application"]

Answering = Callable[[Route, RestRequest], Awaitable[Answer]]
_LARGEST_BODY: Final = 8 * 2**20
_BODY_SECONDS: Final = 30.0
_MOST_PARAMETERS: Final = 100
_CLOSE: Final = {"Connection": "close"}


def application(answering: Answering, version: str) -> FastAPI:
    """The application; `answering` calls a route's handler."""
    app = FastAPI(title="eosfw worker", version=version, docs_url=None, redoc_url=None, redirect_slashes=False)
    for route in ROUTES:
        app.add_api_route(
            route.path,
            _endpoint(route, answering),
            methods=[route.method],
            name=f"{route.method} {route.path}",
            status_code=route.status,
            summary=(route.handler.__doc__ or "").partition("\n")[0],
            include_in_schema=not route.internal,
            openapi_extra=_described(route),
            response_model=None,
            operation_id=f"{route.handler.__module__.rpartition('.')[2]}_{route.handler.__name__}",
        )
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
        return _response(await answering(route, _values(request, body)))

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


def _described(route: Route) -> dict[str, Any]:
    """What OpenAPI says of a route beside what FastAPI knows."""
    names = [part[1:-1] for part in route.path.split("/") if part.startswith("{")]
    text = {"type": "string"}
    in_path = [{"name": name, "in": "path", "required": True, "schema": text} for name in names]
    in_query = [{"name": name, "in": "query", "required": False, "schema": text} for name in route.query]
    described: dict[str, Any] = {"parameters": [*in_path, *in_query]}
    if route.has_body:
        described["requestBody"] = {"required": True, "content": {"application/json": {"schema": {"type": "object"}}}}
    return described
