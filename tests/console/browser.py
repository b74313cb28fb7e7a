"""A browser without scripts: it loads pages, keeps the cookie, sends forms."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPResponse
from urllib.parse import urlencode, urlsplit

PATIENCE = 30.0
_TOKEN = re.compile(r'name="token" value="([^"]+)"')


@dataclass(frozen=True)
class Answer:
    status: int
    text: str
    headers: dict[str, str]


class Browser:
    def __init__(self, url: str) -> None:
        self.url = url
        self.cookie = ""
        self.token = ""
        self._referrer_policy = ""

    def get(self, path: str, **headers: str) -> Answer:
        """Load a page."""
        answer = self._send("GET", path, "", headers)
        if found := _TOKEN.search(answer.text):
            self.token = found[1]
        self._referrer_policy = answer.headers.get("referrer-policy", "")
        return answer

    def submit(self, path: str, headers: dict[str, str] | None = None, **fields: str) -> Answer:
        """Send a form, with the token of the last page unless another is given."""
        form = urlencode({"token": self.token} | fields)
        # As the Fetch standard says: append a request `Origin` header.
        origin = "null" if self._referrer_policy == "no-referrer" else self.url
        given = {"Content-Type": "application/x-www-form-urlencoded", "Origin": origin} | (headers or {})
        return self._send("POST", path, form, given)

    @contextmanager
    def stream(self, path: str) -> Iterator[HTTPResponse]:
        """A stream of events, open."""
        connection = HTTPConnection(urlsplit(self.url).netloc, timeout=PATIENCE)
        try:
            connection.request("GET", path, headers={"Accept": "text/event-stream"})
            yield connection.getresponse()
        finally:
            connection.close()

    def _send(self, method: str, path: str, body: str, headers: dict[str, str]) -> Answer:
        connection = HTTPConnection(urlsplit(self.url).netloc, timeout=PATIENCE)
        try:
            own = {"Cookie": self.cookie} if self.cookie else {}
            connection.request(method, path, body or None, own | headers)
            answer = connection.getresponse()
            found = {name.lower(): value for name, value in answer.getheaders()}
            if "set-cookie" in found:
                self.cookie = found["set-cookie"].partition(";")[0]
            return Answer(answer.status, answer.read().decode(), found)
        finally:
            connection.close()
