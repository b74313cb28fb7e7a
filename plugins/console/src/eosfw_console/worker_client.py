"""Requests to the REST interface for one visitor of the console."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote

from eosfw.protocols import RestCalls, RestResponse

_CREDENTIALS: Final = ("authorization",)


class RestError(Exception):
    """The REST interface refused a request: its status and its message."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status, self.message = status, message


class WorkerClient:
    """Asks the worker that serves the page, in the name of the visitor."""

    def __init__(self, rest: RestCalls, headers: Mapping[str, str]) -> None:
        self._rest = rest
        # Another worker, to which a request is forwarded, admits the visitor by these.
        self._headers = credentials(headers)

    def get(self, target: str) -> Any:
        """What the REST interface shows; RestError if it refuses."""
        return _body(self._rest("GET", target, b"", self._headers))

    def change(self, method: str, target: str, body: Any = None) -> Any:
        """Ask for a change; RestError if it is refused."""
        given = b"" if body is None else json.dumps(body).encode()
        return _body(self._rest(method, target, given, {**self._headers, "content-type": "application/json"}))

    def text_of(self, worker: str, target: str) -> str | None:
        """What another worker shows, as text; None if it does not answer."""
        answer = self._rest("GET", target, b"", self._headers, worker=worker)
        return answer.body.decode("utf-8", "replace") if answer.status == 200 else None


def credentials(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers that say who a visitor is."""
    return {name: headers[name] for name in _CREDENTIALS if name in headers}


def connector_path(connector: str, *more: str) -> str:
    """The path of a connector, whatever characters its name has."""
    segments: Sequence[str] = ("connectors", connector, *more)
    return "".join(f"/{quote(one, safe='')}" for one in segments)


def connector_status(client: WorkerClient, connector: str) -> Mapping[str, Any]:
    """The state of a connector and its tasks, also of one whose state no worker has reported yet."""
    try:
        found: Mapping[str, Any] = client.get(connector_path(connector, "status"))
    except RestError as why:
        if why.status != 404:
            raise
        # It was created a moment ago.
        return {"name": connector, "connector": {"state": "UNASSIGNED", "worker_id": ""}, "tasks": []}
    return found


def _body(answer: RestResponse) -> Any:
    found = json.loads(answer.body) if answer.body else None
    if answer.status >= 400:
        message = found.get("message") if isinstance(found, dict) else None
        raise RestError(answer.status, message or f"HTTP {answer.status}")
    return found
