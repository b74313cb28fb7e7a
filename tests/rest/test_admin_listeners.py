"""Calls under `/admin` on listeners of their own (`admin.listeners`)."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from eosfw.config.clients import client_problems, connector_admin
from eosfw_rest.server import ConnectRestServer

from .conftest import LOOPBACK
from .raw_http import asked
from .test_cross_origin import CONSOLE
from .test_rest_server import properties, start_error

Started = Callable[..., ConnectRestServer]


def status(url: str | None, path: str, **headers: str) -> tuple[int, str | None]:
    """The status of an answer, and the origin that may read it."""
    found, answered, _ = asked(url, path, **headers)
    return found, answered["Access-Control-Allow-Origin"]


def test_without_it_every_listener_serves_all_calls(server: ConnectRestServer) -> None:
    """PLG-31."""
    assert server.admin_url is None
    assert status(server.url, "/admin/loggers")[0] == status(server.url, "/connectors")[0] == 200


def test_calls_under_admin_are_served_there_alone(started: Started) -> None:
    """PLG-31: with the headers of every answer, and described there."""
    server = started(admin_listeners=LOOPBACK, response_http_headers_config="set X-Frame-Options:DENY")

    assert status(server.url, "/admin/loggers")[0] == 404
    assert status(server.url, "/connectors")[0] == 200
    assert status(server.admin_url, "/admin/loggers")[0] == status(server.admin_url, "/admin/loggers/root")[0] == 200
    for path in ("/", "/connectors", "/metrics", "/health", "/connectors/c/fence"):
        assert status(server.admin_url, path)[0] == 404
    _, headers, described = asked(server.admin_url, "/openapi.json")
    assert set(json.loads(described)["paths"]) == {"/admin/loggers", "/admin/loggers/{logger}"}
    assert headers["X-Frame-Options"] == "DENY"


def test_an_empty_value_serves_them_nowhere(started: Started) -> None:
    """PLG-31."""
    server = started(admin_listeners="")

    assert server.admin_url is None
    assert status(server.url, "/admin/loggers")[0] == 404
    assert status(server.url, "/connectors")[0] == 200


def test_who_calls_is_asked_there_too_and_no_page_of_another_origin_may(started: Started, credentials: str) -> None:
    """PLG-31."""
    server = started(
        admin_listeners=LOOPBACK, access_control_allow_origin=CONSOLE, rest_authentication_file=credentials
    )

    assert status(server.admin_url, "/admin/loggers")[0] == 401
    assert status(server.admin_url, "/admin/loggers", Origin=CONSOLE) == (401, None)
    assert status(server.url, "/connectors", Origin=CONSOLE) == (401, CONSOLE)


@pytest.mark.parametrize(
    ("listener", "text"),
    [
        ("http://192.0.2.1:0", "admin.listeners: http://192.0.2.1:0 can be reached from other machines"),
        ("ftp://127.0.0.1:0", "admin.listeners: 'ftp://127.0.0.1:0' must be http://HOST:PORT or https://HOST:PORT"),
        ("http://127.0.0.1", "admin.listeners: 'http://127.0.0.1' must be http://HOST:PORT"),
        ("https://127.0.0.1:0", "admin.listeners: https://127.0.0.1:0 needs listeners.https.ssl.certificate"),
    ],
)
def test_a_listener_that_cannot_be_is_refused_by_name(listener: str, text: str) -> None:
    """PLG-31: as those of `listeners`."""
    assert text in start_error(admin_listeners=listener)


def test_a_port_that_is_taken_is_named(server: ConnectRestServer) -> None:
    """PLG-31."""
    assert f"admin.listeners: {server.url} cannot be opened" in start_error(admin_listeners=server.url)


def test_it_is_no_property_of_admin_clients() -> None:
    """PLG-31: it only begins like one."""
    worker = properties(admin_listeners=LOOPBACK, admin_retries="7")
    asked = []

    client_problems(lambda own, client: asked.append((client.name, own)) or [], worker)

    assert connector_admin(worker, worker).properties == {"retries": "7"}
    assert ("ADMIN", {"retries": "7"}) in asked
