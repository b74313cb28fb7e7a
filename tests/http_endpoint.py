"""An endpoint over HTTP on 127.0.0.1, with TLS or without."""

from __future__ import annotations

import ssl
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from eosfw.concurrency import ThreadRuntime


class _Quiet:
    """Answers requests without a word on stderr."""

    def log_message(self, *_: Any) -> None:
        """Log nothing."""


class HttpEndpoint:
    """Serves at `url`, as long as the context lasts."""

    def __init__(self, handler: type[BaseHTTPRequestHandler], path: str, context: ssl.SSLContext | None = None) -> None:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("Quiet", (_Quiet, handler), {}))
        self._server.daemon_threads = True
        if context is not None:
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.url = f"{'http' if context is None else 'https'}://127.0.0.1:{self._server.server_port}{path}"

    def __enter__(self) -> Self:
        self._thread = ThreadRuntime().spawn("http-endpoint", lambda: self._server.serve_forever(0.01))
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)
