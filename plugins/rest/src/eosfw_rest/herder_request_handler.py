"""Answering with this worker's herder, or forwarding to the worker that can (Connect's `HerderRequestHandler`)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Final, Protocol
from urllib.parse import parse_qsl, urlencode

from eosfw.errors import ClusterUnavailableError, EosfwError, NotAssignedError, NotLeaderError
from eosfw.protocols import Herder, RestResponse
from eosfw_rest.error_mapping import NO_LEADER, TOO_MANY_HOPS, error_answer
from eosfw_rest.messages import Answer, RestRequest, error_message
from eosfw_rest.rest_client import worker_url_problem

_log = logging.getLogger(__name__)
_TIMEOUT: Final = 90.0
_PASSED_ON: Final = ("authorization", "content-type")
_PASSED_BACK: Final = ("content-type", "location", "retry-after")
_RETRY: Final = {"Retry-After": "1"}


class Sender(Protocol):
    """The way to another worker: `RestServer.request`."""

    def __call__(
        self, method: str, url: str, body: bytes, headers: Mapping[str, str], timeout: float
    ) -> RestResponse: ...


class HerderRequestHandler:
    """Calls handlers. What only another worker may do goes there, over two hops between workers at most."""

    def __init__(self, send: Sender) -> None:
        self._send = send

    def answer(
        self, handler: Callable[[RestRequest, Herder], Answer], request: RestRequest, herder: Herder, *, forwards: bool
    ) -> Answer:
        """The answer of a handler; errors become answers as well."""
        try:
            return handler(request, herder)
        except (NotLeaderError, NotAssignedError) as elsewhere:
            # A signature holds for one path, so a worker repeats its own request instead of having it forwarded.
            return self._forwarded(request, herder, elsewhere.url) if forwards else error_answer(elsewhere)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a request must be answered, whatever a connector does
            return error_answer(error)

    def _forwarded(self, request: RestRequest, herder: Herder, url: str | None) -> Answer:
        hop = request.flag("forward")
        if hop is False:
            return _conflict(TOO_MANY_HOPS, herder)
        if url is None:
            return _conflict(NO_LEADER, herder)
        if problem := worker_url_problem(url):
            _log.error("%s %r is not forwarded to %r: %s", request.method, request.target, url, problem)
            return _conflict(NO_LEADER, herder)
        target = url.rstrip("/") + _with_forward(request.target, allowed=hop is None)
        headers = {name: request.headers[name] for name in _PASSED_ON if name in request.headers}
        try:
            response = self._send(request.method, target, request.body, headers, _TIMEOUT)
        except ClusterUnavailableError as gone:
            # The group will notice, and elect another leader: nothing was sent, so the client may repeat it.
            _log.info("%s", gone)
            return _conflict(NO_LEADER, herder)
        except EosfwError as error:
            _log.warning("%s %r may or may not have been done: %s", request.method, request.target, error)
            return error_message(500, f"IO Error trying to forward REST request: {error}")
        return Answer(response.status, response.body or None, _only(response.headers))


def _conflict(message: str, herder: Herder) -> Answer:
    """Kafka Connect's sentence, and what is wrong with this worker, if something is."""
    health = herder.health()
    why = f" {health.message}" if health.status == "unhealthy" else ""
    return error_message(409, message + why, _RETRY)


def _with_forward(target: str, *, allowed: bool) -> str:
    """The path with its query, in which `forward` says whether the next worker may forward once more."""
    path, _, query = target.partition("?")
    pairs = [pair for pair in parse_qsl(query, keep_blank_values=True) if pair[0] != "forward"]
    return f"{path}?{urlencode([*pairs, ('forward', 'true' if allowed else 'false')])}"


def _only(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.title(): headers[name] for name in _PASSED_BACK if name in headers}
