"""An API on 127.0.0.1 that gives records page by page, and fails when it is told to."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit


class ServedApi:
    """Records in order; `page`, `offset`, `cursor` and `since` choose among them."""

    def __init__(self, records: list[dict[str, Any]], size: int = 4) -> None:
        self.records, self.size, self.url = records, size, ""
        self.failures: list[tuple[int, dict[str, str]]] = []

    def answer(self, path: str) -> tuple[int, dict[str, str], Any]:
        """Status, headers and body of a request."""
        if self.failures:
            return *self.failures.pop(0), {}
        asked = {name: one[0] for name, one in parse_qs(urlsplit(path).query).items()}
        rows = [row for row in self.records if row["changed"] >= int(asked.get("since", 0))]
        start = int(asked.get("offset", asked.get("cursor", (int(asked.get("page", 1)) - 1) * self.size)))
        end = start + self.size
        more = end < len(rows)
        since = f"&since={asked['since']}" if "since" in asked else ""
        headers = {"Link": f'</rows?offset={end}{since}>; rel="next"'} if more else {}
        return 200, headers, {"data": {"rows": rows[start:end]}, "next": str(end) if more else None}


@contextmanager
def served(api: ServedApi) -> Iterator[ServedApi]:
    """Serve it."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, headers, body = api.answer(self.path)
            sent = json.dumps(body).encode()
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(sent))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(sent)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    api.url = f"http://127.0.0.1:{server.server_address[1]}/rows"
    try:
        yield api
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
