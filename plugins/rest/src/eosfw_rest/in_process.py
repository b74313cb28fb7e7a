"""Requests of extensions to the routes of their own worker, without a socket."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final
from urllib.parse import parse_qs, unquote

from starlette.routing import compile_path

from eosfw.errors import EosfwError
from eosfw.protocols import RestResponse
from eosfw_rest.herder_request_handler import Sender
from eosfw_rest.messages import Answer, RestRequest, error_message
from eosfw_rest.network.sending import body_of, headers_of
from eosfw_rest.request_path import path_problem
from eosfw_rest.rest_client import worker_url_problem
from eosfw_rest.routes import Route

_NO_HEADERS: Final[Mapping[str, str]] = {}
_TIMEOUT: Final = 5.0
_NOT_FOUND: Final = "HTTP 404 Not Found"


class InProcessRequests:
    """The `RestCalls` of one worker; thread-safe."""

    def __init__(
        self, routes: Sequence[Route], answering: Callable[[Route, RestRequest], Answer], send: Sender
    ) -> None:
        self._routes = [(route, compile_path(route.path)[0]) for route in routes if not route.internal]
        self._answering, self._send = answering, send

    def __call__(
        self,
        method: str,
        target: str,
        body: bytes = b"",
        headers: Mapping[str, str] = _NO_HEADERS,
        *,
        worker: str | None = None,
    ) -> RestResponse:
        path, _, query = target.partition("?")
        if problem := path_problem(path):
            return _response(error_message(400, problem))
        if worker is not None:
            return self._ask(worker, method, target, body, headers)
        # A name of a connector may hold any character: it is matched before it is decoded.
        found = [(route, match) for route, pattern in self._routes if (match := pattern.fullmatch(path))]
        for route, match in found:
            if route.method == method:
                parameters = {name: unquote(value) for name, value in match.groupdict().items()}
                values = parse_qs(query, keep_blank_values=True)
                return _response(self._answering(route, RestRequest(method, target, parameters, values, headers, body)))
        return _response(error_message(405 if found else 404, "HTTP 405 Method Not Allowed" if found else _NOT_FOUND))

    def _ask(self, worker: str, method: str, target: str, body: bytes, headers: Mapping[str, str]) -> RestResponse:
        if problem := worker_url_problem(worker):
            return _response(error_message(503, f"{worker!r} is not asked: {problem}"))
        try:
            return self._send(method, worker.rstrip("/") + target, body, headers, _TIMEOUT)
        except EosfwError as why:
            return _response(error_message(503, f"{worker} does not answer: {why}"))


def _response(answer: Answer) -> RestResponse:
    body = body_of(answer)
    return RestResponse(answer.status, body, {name.lower(): value for name, value in headers_of(answer, body).items()})
