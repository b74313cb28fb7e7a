"""Small sources for the connectors that are certified while the site is built."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from eosfw.concurrency import ThreadRuntime

Properties = Mapping[str, object]
_ROWS = 30
_PAGE = 4


@contextmanager
def _files(folder: Path) -> Iterator[Properties]:
    for name in "abc":
        lines = "".join(f"{name}{number},{number * 3}\n" for number in range(20))
        (folder / f"{name}.csv").write_text(f"id,price\n{lines}", encoding="utf-8")
    yield {"file": f"{folder}/*.csv", "format": "csv", "batch.size": 5}


@contextmanager
def _database(folder: Path) -> Iterator[Properties]:
    with closing(sqlite3.connect(folder / "shop.db")) as session, session:
        session.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, item TEXT NOT NULL)")
        session.executemany("INSERT INTO orders VALUES (?, ?)", [(n, f"item {n}") for n in range(1, _ROWS)])
    yield {
        "connection.url": f"sqlite:///{folder}/shop.db",
        "mode": "incrementing",
        "topic.prefix": "shop-",
        "batch.max.rows": 5,
        "value.converter": "json",
    }


class _Orders(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        start = int(parse_qs(urlsplit(self.path).query).get("cursor", ["0"])[0])
        following = start + _PAGE if start + _PAGE < _ROWS else None
        rows = [{"id": number} for number in range(start, min(start + _PAGE, _ROWS))]
        answer = json.dumps({"rows": rows, "next": following}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def _api(_: Path) -> Iterator[Properties]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Orders) as server:
        serving = ThreadRuntime().spawn("certified-api", server.serve_forever)
        yield {
            "url": f"http://127.0.0.1:{server.server_port}/orders",
            "records.path": "rows",
            "paging": "cursor",
            "cursor.path": "next",
            "value.converter": "json",
        }
        server.shutdown()
        serving.join()


SOURCES: Mapping[str, Callable[[Path], AbstractContextManager[Properties]]] = {
    "file": _files,
    "http": _api,
    "sql": _database,
}
"""By the name of the connector: a source in a folder, while it is certified, and the properties that lead there."""
