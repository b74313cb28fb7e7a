"""Callers who are not known, or call what is not theirs, get the documented status code, and change nothing."""

from __future__ import annotations

import base64
import errno
import os
import threading
from collections import Counter

import pytest

from eosfw_rest.authentication import Authentication

from .raw_http import answer_of, connected, exchange, request

TARGETS = (
    *("/", "/connectors", "//connectors", "/connectors/..%2f", "/connectors;x", "/CONNECTORS", "/nowhere"),
    *("/connectors/", "/openapi.json", "/health", "/connectors/c1/fence/x", "/connectors/%00"),
)


@pytest.mark.parametrize(
    "header", [None, "", "Bearer ", "Bearer wrong", "Basic !", "Basic YWxpY2U6d3Jvbmc=", "Digest x"]
)
def test_nobody_unknown_reaches_a_route(guarded, header):
    """Refused before routing, whatever the path, so no spelling of a path opens a route."""
    address, _ = guarded
    headers = {} if header is None else {"Authorization": header}

    assert [exchange(address, request("GET", target, **headers))[0] for target in TARGETS] == [401] * len(TARGETS)


def test_whoever_guesses_passwords_keeps_nobody_waiting_who_is_known(guarded, monkeypatch):
    """Each guess costs a twentieth of a second of a processor; here none is checked before all others are answered."""
    address, token = guarded
    alice = request("GET", "/connectors", Authorization="Basic YWxpY2U6Y29ycmVjdCBob3JzZQ==")
    assert exchange(address, alice)[0] == 200
    admits, checking, answered = Authentication.admits, threading.Event(), threading.Event()

    def admits_late(self, headers):
        checking.set()
        return answered.wait(60) and admits(self, headers)

    monkeypatch.setattr(Authentication, "admits", admits_late)
    guesses = [connected(address) for _ in range(300)]
    try:
        for number, sock in enumerate(guesses):
            guess = base64.b64encode(b"alice:%d" % number).decode()
            sock.sendall(request("GET", "/connectors", Authorization=f"Basic {guess}"))
        assert checking.wait(60)

        assert exchange(address, alice)[0] == 200
        assert exchange(address, request("GET", "/connectors", Authorization=f"Bearer {token}"))[0] == 200
        answered.set()
        answers = Counter(answer_of(sock)[0] for sock in guesses)
    finally:
        answered.set()
        for sock in guesses:
            sock.close()
    assert answers.keys() == {401, 503}


def test_two_authorization_headers_are_refused(guarded):
    """Two readers may choose different ones."""
    address, token = guarded
    sent = request("GET", "/", Authorization=f"Bearer {token}\r\nAuthorization: Bearer wrong")

    assert exchange(address, sent)[0] == 400


@pytest.mark.parametrize("form", ["Bearer {token}", "bearer {token}", "Basic YWxpY2U6Y29ycmVjdCBob3JzZQ=="])
def test_who_is_known_comes_in(guarded, form):
    """Twice, as the second time a password is remembered."""
    address, token = guarded
    sent = request("GET", "/connectors", Authorization=form.format(token=token))

    assert [exchange(address, sent) for _ in range(2)] == [(200, []), (200, [])]


@pytest.mark.parametrize(
    "target",
    [
        *("//connectors", "/connectors/..%2f", "/connectors/../x", "/connectors/%2e%2e", "/c;x"),
        *("/connectors/%zz", "/connectors/%ff", "/connectors/a%5cb", "/connectors//c1"),
    ],
)
def test_an_ambiguous_path_is_refused_before_routing(address, target):
    """What one reader takes for two segments another may take for one."""
    assert exchange(address, request("GET", target))[0] == 400


@pytest.mark.parametrize("target", ["/CONNECTORS", "/connectors/c1/config/x", "/connectors/c1/status/x/config"])
def test_an_unknown_path_is_not_found(address, target):
    """Case variants and extra segments."""
    assert exchange(address, request("GET", target))[0] == 404


@pytest.mark.parametrize(
    "sent", [request("PUT", "/connectors/c1/fence"), request("POST", "/connectors/c1/tasks", b"[]")]
)
def test_unsigned_internal_requests_are_refused(address, guarded, sent):
    """400 of the herder, which checks signatures; 401 where somebody must be known at all."""
    assert exchange(address, sent)[0] == 400
    assert exchange(guarded[0], sent)[0] == 401


def test_the_body_of_an_internal_request_is_not_read_before_its_signature(address):
    status, answered = exchange(address, request("POST", "/connectors/c1/tasks", b"no JSON"))

    assert (status, answered["message"]) == (400, "Internal request missing required signature")


def test_the_herder_gets_an_internal_request_as_it_was_received(guarded, herder):
    """A signature is checked against these; who signs needs no password."""
    sent = request("PUT", "/connectors/c%31/fence?x=%41", b" ", X_Connect_Authorization="c2ln")

    assert exchange(guarded[0], sent)[0] == 204
    (received,) = herder.internal_requests
    assert (received.method, received.path, received.body) == ("PUT", "/connectors/c%31/fence?x=%41", b" ")
    assert received.headers["x-connect-authorization"] == "c2ln"


def test_the_log_says_once_that_no_descriptor_is_free(server, caplog):
    """The event loop reports it for each connection that might wait, again and again."""
    address, listed = server.url.removeprefix("http://"), request("GET", "/connectors")
    assert exchange(address, listed)[0] == 200
    loop = server._web._loop
    for _ in range(3):
        full = OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        loop.call_soon_threadsafe(loop.call_exception_handler, {"message": "socket.accept()", "exception": full})
    assert exchange(address, listed)[0] == 200

    (warning,) = caplog.messages
    assert warning.endswith("raise `ulimit -n`, or close connections that nobody uses")
