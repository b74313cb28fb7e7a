"""Headers of every answer, by a worker's rules (KIP-577)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

import pytest

from eosfw_rest.server import ConnectRestServer

from .raw_http import asked
from .test_cross_origin import CONSOLE, preflight
from .test_rest_server import start_error

RULES = (
    'set X-Frame-Options:DENY, "add X-Policy:no-cache, no-store", add X-Policy:none, SETDATE Expires:3600000, '
    "set cache-control:no-cache, set Content-Security-Policy:default-src https:"
)


def test_every_answer_has_the_headers(started: Callable[..., ConnectRestServer]) -> None:
    """TPC-10: `set` replaces, `add` adds, a date is so many milliseconds away, a value may have commas and colons."""
    server = started(response_http_headers_config=RULES, access_control_allow_origin=CONSOLE)

    for method in ("GET", "PUT"):  # the second is refused
        status, headers, _ = asked(server.url, "/connectors", method)
        assert status == {"GET": 200, "PUT": 405}[method]
        assert headers.get_all("X-Frame-Options") == ["DENY"]
        assert headers.get_all("X-Policy") == ["no-cache, no-store", "none"]
        assert headers.get_all("Cache-Control") == ["no-cache"]
        assert headers["Content-Security-Policy"] == "default-src https:"
        away = parsedate_to_datetime(headers["Expires"]) - datetime.now(UTC)
        assert timedelta(minutes=50) < away < timedelta(minutes=70)
    assert preflight(server, CONSOLE, "GET") == (200, CONSOLE)


@pytest.mark.parametrize(
    ("rules", "text"),
    [
        ("set", "Invalid format of header config 'set'. Expected: '[action] [header name]:[header value]'"),
        ("put X:1", "Invalid header config action: 'put'. Expected one of [set, add, setDate, addDate]"),
        ("set X", "Invalid format of header name and header value pair 'X'. Expected: '[header name]:[header value]'"),
        ("set X:", "Invalid format of header name and header value pair 'X:'"),
        ("set X Y:1", "Invalid header name 'X Y'. The '[header name]' cannot contain whitespace"),
        ("set Content-Length:1", "Invalid header name 'Content-Length'. It is no header that may be set"),
        ("set X:a\r\nSet-Cookie:b", "Invalid value for configuration response.http.headers.config: "),
        ("set X:\u00e9", "Invalid header value. It holds a character that no header has"),
        ("setDate Expires:never", "Invalid header value 'never'. setDate takes milliseconds from now on"),
        ('"set X:1', "Invalid value for configuration response.http.headers.config: "),
    ],
)
def test_a_rule_that_cannot_be_read_is_refused(rules: str, text: str) -> None:
    """TPC-10: with Kafka Connect's text."""
    assert text in start_error(response_http_headers_config=rules)


def test_without_rules_nothing_is_added(server: ConnectRestServer) -> None:
    """TPC-10."""
    assert set(asked(server.url, "/connectors")[1]) == {
        "cache-control", "x-content-type-options", "content-type", "content-length",
    }  # fmt: skip
