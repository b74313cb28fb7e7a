"""A worker's REST interface that answers from a table."""

from __future__ import annotations

import json
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class RestWorker(ThreadingHTTPServer):
    """Answers from a table, and keeps what it was asked."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers: dict[str, tuple[int, Any]] = {}
        self.asked: list[tuple[str, Any]] = []
        self.headers: list[Mapping[str, str]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: RestWorker

    def _answer(self) -> None:
        request = f"{self.command} {self.path}"
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.asked.append((request, json.loads(body) if body else None))
        self.server.headers.append(dict(self.headers))
        status, answer = self.server.answers.get(request, (404, {"error_code": 404, "message": f"no {request}"}))
        data = b"" if answer is None else answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        self.send_response(status)
        if status == 307:
            self.send_header("Location", "http://127.0.0.1:1/")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _answer  # noqa: N815 (names of http.server)

    def log_message(self, *_: object) -> None:
        pass
