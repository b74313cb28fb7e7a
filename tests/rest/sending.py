"""Send the calls of a comparison to a REST interface."""

from __future__ import annotations

import http.client
import json
import time
from pathlib import Path
from typing import Any

from .connect_calls import Call, calls
from .normalised_answers import answer

PATIENCE = 60.0


def send(address: str, call: Call, folder: str) -> dict[str, Any]:
    """The answer of one call."""
    host, _, port = address.partition(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=100)
    body = None if call.body is None else call.body.replace("{folder}", folder).encode()
    headers = {"Content-Type": call.content_type} if call.content_type and body is not None else {}
    try:
        connection.request(call.method, call.path, body, headers)
        response = connection.getresponse()
        return answer(response.status, response.headers.get("Content-Type"), response.read(), folder)
    finally:
        connection.close()


def _reached(call: Call, got: dict[str, Any]) -> bool:
    if call.gone:
        return bool(got["status"] == 404)
    if call.path.endswith("/status"):
        wanted = call.until.split("|")
        body = got["body"] or {}
        states = [body.get("connector", {}).get("state"), *(task["state"] for task in body.get("tasks", []))]
        return states == wanted
    return call.until in json.dumps(got["body"])


def answers(address: str, folder: str) -> list[tuple[Call, dict[str, Any]]]:
    """Send all calls; those that wait are repeated until they have what they wait for."""
    result, lines = [], Path(folder, "lines.txt")
    lines.touch()
    for call in calls():
        deadline = time.monotonic() + PATIENCE
        got = send(address, call, folder)
        while (call.until or call.gone) and not _reached(call, got):
            assert time.monotonic() < deadline, f"{call.name} waits for {call.until or '404'}, last {got}"
            time.sleep(0.2)
            got = send(address, call, folder)
        if call.gone and not lines.stat().st_size:
            # Not before: the deleted connector would have read them in place of the next one of its name.
            lines.write_text("one\ntwo\nthree\n")
        if not (call.until or call.gone):
            result.append((call, got))
    return result
