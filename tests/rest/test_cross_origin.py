"""Requests that pages of other origins send, as a browser sends them (`access.control.*`)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from eosfw_rest.server import ConnectRestServer

from .raw_http import asked, exchange
from .test_rest_server import start_error

CONSOLE = "https://console.example.org"
Started = Callable[..., ConnectRestServer]


def preflight(server: ConnectRestServer, origin: str, method: str, headers: str = "content-type") -> tuple[int, str]:
    """A browser's question: the status, and to whom the answer is addressed."""
    status, answered, _ = asked(
        server.url,
        "/connectors",
        "OPTIONS",
        Origin=origin,
        Access_Control_Request_Method=method,
        Access_Control_Request_Headers=headers,
    )
    return status, answered["Access-Control-Allow-Origin"] or ""


def test_no_other_origin_is_let_in_by_default(server: ConnectRestServer) -> None:
    """TPC-09."""
    status, headers, _ = asked(server.url, "/connectors", Origin=CONSOLE)

    assert (status, headers["Access-Control-Allow-Origin"]) == (200, None)
    assert asked(server.url, "/connectors", "OPTIONS", Origin=CONSOLE, Access_Control_Request_Method="GET")[0] == 405


@pytest.mark.parametrize(
    ("origins", "origin", "answered"),
    [
        (CONSOLE, CONSOLE, CONSOLE),
        (f"http://a, {CONSOLE}", CONSOLE, CONSOLE),
        ("*", CONSOLE, "*"),
        ("https://*.example.org", CONSOLE, CONSOLE),
        (CONSOLE, "https://evil.example.org", None),
        (CONSOLE, f"{CONSOLE}.evil.org", None),
        (CONSOLE, "https://consoleXexample.org", None),
        ("https://*.example.org", "https://evil.org/.example.org", None),
    ],
)
def test_pages_of_an_origin_that_is_allowed_may_read_answers(
    started: Started, origins: str, origin: str, answered: str | None
) -> None:
    """TPC-09: a browser keeps an answer from any other page."""
    server = started(access_control_allow_origin=origins)

    status, headers, _ = asked(server.url, "/connectors", Origin=origin)

    assert (status, headers["Access-Control-Allow-Origin"]) == (200, answered)
    assert headers["Access-Control-Allow-Credentials"] is None


@pytest.mark.parametrize(
    ("methods", "method", "status"),
    [("", "POST", 200), ("", "PUT", 400), ("get,PUT", "PUT", 200), ("GET", "POST", 400)],
)
def test_a_preflight_says_which_methods_there_are(started: Started, methods: str, method: str, status: int) -> None:
    """TPC-09: GET, POST and HEAD by default, as in Kafka Connect."""
    server = started(access_control_allow_origin=CONSOLE, access_control_allow_methods=methods)

    assert preflight(server, CONSOLE, method)[0] == status
    assert preflight(server, "https://evil.example.org", method) == (400, "")


def test_a_browser_asks_without_a_password_and_its_page_has_one(started: Started, credentials: str) -> None:
    """TPC-09: the page may read that it was refused."""
    server = started(access_control_allow_origin=CONSOLE, rest_authentication_file=credentials)

    assert preflight(server, CONSOLE, "GET", "authorization") == (200, CONSOLE)
    status, headers, _ = asked(server.url, "/connectors", Origin=CONSOLE)
    assert (status, headers["Access-Control-Allow-Origin"]) == (401, CONSOLE)


def test_a_question_whose_end_is_ambiguous_is_refused(started: Started) -> None:
    """TPC-09: as any other request is."""
    server = started(access_control_allow_origin=CONSOLE)
    head = (
        f"OPTIONS / HTTP/1.1\r\nHost: localhost\r\nOrigin: {CONSOLE}\r\nAccess-Control-Request-Method: GET\r\n"
        "Authorization: Basic a\r\nAuthorization: Basic b\r\n\r\n"
    )

    assert exchange(server.url.removeprefix("http://"), head.encode())[0] == 400


@pytest.mark.parametrize(
    ("properties", "text"),
    [
        ({"access_control_allow_origin": "example.org"}, "'example.org' must be http://HOST:PORT, https://HOST:PORT"),
        ({"access_control_allow_origin": "https://a/b"}, "'https://a/b' must be http://HOST:PORT"),
        (
            {"access_control_allow_origin": "*", "access_control_allow_methods": "FETCH"},
            "access.control.allow.methods: 'FETCH' must be one of DELETE, GET, HEAD, PATCH, POST, PUT",
        ),
    ],
)
def test_an_origin_or_method_that_does_not_exist_is_refused(properties: dict[str, str], text: str) -> None:
    """TPC-09."""
    assert text in start_error(**properties)


RESTART = "/connectors/c1/restart"


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
@pytest.mark.parametrize("origin", ["https://evil.example.org", "null", None])
def test_a_page_of_another_site_changes_nothing_by_a_request_that_no_browser_asks_about(
    started: Started, site: str, origin: str | None
) -> None:
    """TPC-09: such as a form without fields, with the password that the browser keeps."""
    server = started(access_control_allow_origin=CONSOLE)
    named = {} if origin is None else {"Origin": origin}

    status, _, body = asked(server.url, RESTART, "POST", Sec_Fetch_Site=site, **named)

    assert status == 403
    assert b"a page of another site" in body
    assert asked(server.url, "/connectors", Sec_Fetch_Site=site, **named)[0] == 200


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Sec-Fetch-Site": "none"},
        {"Sec-Fetch-Site": "same-origin", "Origin": "https://behind.a.proxy"},
        {"Sec-Fetch-Site": "cross-site", "Origin": CONSOLE},
    ],
)
def test_everybody_else_may_send_it(started: Started, headers: dict[str, str]) -> None:
    """TPC-09: 404 is the herder's answer, which has no such connector."""
    server = started(access_control_allow_origin=CONSOLE)

    assert asked(server.url, RESTART, "POST", **headers)[0] == 404


def test_no_origin_may_change_anything_at_a_listener_for_admin_alone(started: Started) -> None:
    """TPC-09."""
    server = started(access_control_allow_origin="*", admin_listeners="http://127.0.0.1:0")
    page = {"Origin": CONSOLE, "Sec-Fetch-Site": "cross-site"}

    assert asked(server.url, RESTART, "POST", **page)[0] == 404
    assert asked(server.admin_url, "/admin/loggers/root", "PUT", **page)[0] == 403
