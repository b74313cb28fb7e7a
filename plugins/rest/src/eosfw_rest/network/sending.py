"""Answers as the messages of ASGI."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from eosfw_rest.json_text import dumped
from eosfw_rest.messages import Answer

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
_JSON = "application/json"


def body_of(answer: Answer) -> bytes:
    """The body as it is sent."""
    if answer.body is None:
        return b""
    return answer.body if isinstance(answer.body, bytes) else dumped(answer.body)


def headers_of(answer: Answer, body: bytes) -> dict[str, str]:
    """The headers as they are sent."""
    headers = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", **answer.headers}
    if answer.body is not None:
        headers.setdefault("Content-Type", _JSON)
    return headers if answer.status == 204 else headers | {"Content-Length": str(len(body))}


async def send_answer(answer: Answer, send: Send) -> None:
    """Send an answer that no route gave."""
    body = body_of(answer)
    pairs = [(name.lower().encode(), text.encode("latin-1")) for name, text in headers_of(answer, body).items()]
    await send({"type": "http.response.start", "status": answer.status, "headers": pairs})
    await send({"type": "http.response.body", "body": body})
