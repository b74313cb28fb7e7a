"""Requests and answers of the REST interface as values, apart from any web server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class RestRequest:
    """A request that was routed."""

    method: str
    target: str
    """The path with its query, as it was sent."""
    parameters: Mapping[str, str] = field(default_factory=dict)
    """The values in the path, decoded."""
    query: Mapping[str, Sequence[str]] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    """By names in lower case."""
    body: bytes = b""

    def flag(self, name: str, *, default: bool | None = None) -> bool | None:
        """A Boolean of the query as Java reads it: everything but `true` is false."""
        values = self.query.get(name)
        return default if not values else values[0].lower() == "true"


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer; the body is JSON, unless it is bytes, which are sent as they are."""

    status: int = 200
    body: Any = None
    """None: no body."""
    headers: Mapping[str, str] = field(default_factory=dict)


def error_message(status: int, message: str, headers: Mapping[str, str] | None = None) -> Answer:
    """An answer that says what is wrong (Kafka Connect's `ErrorMessage`)."""
    return Answer(status, {"error_code": status, "message": message}, headers or {})
