"""An API on 127.0.0.1 that gives records page by page, and fails when it is told to."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit


@dataclass(frozen=True)
class Asked:
    """A request."""

    path: str
    parameters: Mapping[str, str]
    headers: Mapping[str, str]
    form: str = ""


@dataclass(frozen=True)
class Reply:
    """An answer; a body that is no bytes is sent as JSON."""

    status: int = 200
    headers: Mapping[str, str] | None = None
    body: Any = None

    @property
    def sent(self) -> bytes:
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()


class ServedApi:
    """Records in order; `page`, `offset`, `cursor` and `since` choose among them. `/token` gives tokens."""

    def __init__(self, records: list[dict[str, Any]], size: int = 4) -> None:
        self.records, self.size, self.url = records, size, ""
        self.replies: list[Reply] = []
        """What is answered next, instead of records."""
        self.asked: list[Asked] = []
        self.allows: Callable[[Asked], bool] = lambda _: True
        self.exclusive = self.caches = False
        self.tokens = 0
        self.token_lasts: Any = 3600

    def answer(self, asked: Asked) -> Reply:
        """The answer to a request."""
        self.asked.append(asked)
        if self.replies:
            return self.replies.pop(0)
        if asked.path == "/token":
            self.tokens += 1
            return Reply(body={"access_token": f"token-{self.tokens}", "expires_in": self.token_lasts})
        return self._page(asked) if self.allows(asked) else Reply(401)

    def _page(self, asked: Asked) -> Reply:
        given = asked.parameters
        since = int(given.get("since", 0)) + self.exclusive * ("since" in given)
        rows = [row for row in self.records if row.get("changed", 0) >= since]
        start = int(given.get("offset", given.get("cursor", (int(given.get("page", 1)) - 1) * self.size)))
        end = start + self.size
        more = {"data": {"rows": rows[start:end]}, "next": str(end) if end < len(rows) else None}
        more["link"] = more["next"] and f"/rows?offset={end}"
        kept = "".join(f"&{name}={value}" for name, value in given.items() if name not in ("offset", "page"))
        headers = {"Link": f'</rows?offset={end}{kept}>; rel="next"'} if end < len(rows) else {}
        if self.caches:
            headers["ETag"] = '"' + sha256(json.dumps(more).encode()).hexdigest() + '"'
            if asked.headers.get("if-none-match") == headers["ETag"]:
                return Reply(304, headers, b"")
        return Reply(200, headers, more)


class Handler(BaseHTTPRequestHandler):
    """Answers with what `api` says."""

    api: ServedApi

    def do_POST(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        form = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        headers = {name.lower(): value for name, value in self.headers.items()}
        reply = self.api.answer(Asked(url.path, dict(parse_qsl(url.query)), headers, form))
        self.send_response(reply.status)
        for name, value in {"Content-Length": str(len(reply.sent)), **(reply.headers or {})}.items():
            if value:
                self.send_header(name, value)
        self.end_headers()
        self.wfile.write(reply.sent)

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def served(api: ServedApi, port: int = 0) -> Iterator[ServedApi]:
    """Serve it."""
    server = ThreadingHTTPServer(("127.0.0.1", port), type("Handler", (Handler,), {"api": api}))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    api.url = f"http://127.0.0.1:{server.server_address[1]}/rows"
    try:
        yield api
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
