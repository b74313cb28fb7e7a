"""Starting, securing and stopping the REST interface of a worker."""

from __future__ import annotations

import io
import json
import socket
import subprocess
import sys
import threading

import pytest

from eosfw.cli.connectors.client import RestClient, RestTarget
from eosfw.concurrency import ThreadRuntime
from eosfw.config.worker import WORKER
from eosfw.errors import ClusterUnavailableError, ConfigError, EosfwError
from eosfw_rest.authentication import Authentication, parse_credentials
from eosfw_rest.credentials import main
from eosfw_rest.error_mapping import STATUSES
from eosfw_rest.routes import ROUTES
from eosfw_rest.server import ConnectRestServer
from ports import free_port

from .conftest import LOOPBACK
from .raw_http import exchange, request


def properties(**given: str):
    texts = {key.replace("_", "."): text for key, text in given.items()}
    return (WORKER + ConnectRestServer.config).parse({"group.id": "rest", "listeners": LOOPBACK} | texts)


def start_error(**given: str) -> str:
    with pytest.raises(ConfigError) as raised:
        ConnectRestServer.start(properties(**given), ThreadRuntime())
    return str(raised.value)


# --- where it listens


@pytest.mark.parametrize(
    "listener", ["http://0.0.0.0:0", "http://:0", "http://[::]:0", "http://192.0.2.1:0", "http://example.org:0"]
)
def test_it_listens_to_loopback_alone_unless_somebody_is_asked_who_they_are(listener):
    assert "can be reached from other machines" in start_error(listeners=listener)


@pytest.mark.parametrize("listener", ["http://127.0.0.1:0", "http://127.0.0.2:0", "http://localhost:0"])
def test_loopback_needs_no_authentication(started, listener):
    address = started(listeners=listener).url.removeprefix("http://")

    assert exchange(address, request("GET", "/connectors"))[0] == 200


def test_with_authentication_it_listens_everywhere(started, credentials):
    port = started(listeners="http://0.0.0.0:0", rest_authentication_file=credentials).url.rpartition(":")[2]

    assert exchange(f"127.0.0.1:{port}", request("GET", "/"))[0] == 401


def test_a_port_that_is_taken_is_named(server):
    assert f"{server.url} cannot be opened: Address already in use" in start_error(listeners=server.url)


def test_a_protocol_that_nobody_speaks_is_not_advertised(started):
    """Other workers would fence and forward requests there in vain; a proxy is named by its host or its port."""
    assert "rest.advertised.listener=https, but no listener speaks it" in start_error(rest_advertised_listener="https")
    proxied = started(rest_advertised_listener="https", rest_advertised_host_name="proxy", rest_advertised_port="443")
    assert proxied.url == "https://proxy:443"


def test_the_advertised_url_is_what_the_properties_say(started):
    """Connect's `rest.advertised.*`."""
    assert started(rest_advertised_host_name="worker-1", rest_advertised_port="80").url == "http://worker-1:80"


def test_several_listeners_are_served(started, tmp_path):
    server = started(listeners=f"{LOOPBACK},{LOOPBACK}")

    assert exchange(server.url.removeprefix("http://"), request("GET", "/connectors"))[0] == 200


def test_small_answers_are_sent_at_once(server):
    """For asyncio switches Nagle's algorithm off where a socket is TCP by name; else each answer waits 40 ms."""
    exchange(server.url.removeprefix("http://"), request("GET", "/"))
    listening = [one for web in server._web._servers for served in web.servers for one in served.sockets]

    assert [one.proto for one in listening] == [socket.IPPROTO_TCP]


# --- TLS


@pytest.fixture
def certificate(tmp_path):
    """A certificate for 127.0.0.1 that signs itself, with its key."""
    path = tmp_path / "worker.pem"
    kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    files = ["-keyout", str(tmp_path / "key.pem"), "-out", str(path)]
    names = ["-subj", "/CN=worker", "-addext", "subjectAltName=IP:127.0.0.1"]
    command = ["openssl", "req", "-x509", *kind, *files, *names]
    subprocess.run(command, check=True, capture_output=True)
    return {
        "listeners": "https://127.0.0.1:0",
        "listeners.https.ssl.certificate.location": str(path),
        "listeners.https.ssl.key.location": str(tmp_path / "key.pem"),
        "listeners.https.ssl.ca.location": str(path),
    }


def test_workers_call_each_other_over_tls(started, certificate):
    server = started(**certificate)

    assert server.url.startswith("https://")
    assert server.request("GET", f"{server.url}/connectors", b"", {}, 10.0).body == b"[]"


def test_a_worker_with_an_unknown_certificate_is_not_called(started, certificate):
    from eosfw.errors import RetriableError

    server = started(**certificate)
    stranger = started()

    with pytest.raises(RetriableError, match="CERTIFICATE_VERIFY_FAILED"):
        stranger.request("GET", f"{server.url}/connectors", b"", {}, 10.0)


def test_a_command_says_how_a_workers_unknown_certificate_is_trusted(started, certificate, tmp_path):
    server = started(**certificate)
    trusting = RestClient(RestTarget(server.url, ca=str(tmp_path / "worker.pem")))

    assert trusting.get("connectors") == []
    with pytest.raises(ClusterUnavailableError, match=r"the certificate of the worker at .* is refused: .*--ca"):
        RestClient(RestTarget(server.url)).get("connectors")


def test_https_without_a_certificate_is_refused():
    assert "needs listeners.https.ssl.certificate.location" in start_error(listeners="https://127.0.0.1:0")


def test_a_certificate_that_cannot_be_read_is_named(tmp_path):
    name = "listeners.https.ssl.certificate.location"

    assert f"{name}: {tmp_path}/no.pem cannot be used" in start_error(
        **{"listeners": "https://127.0.0.1:0", name: f"{tmp_path}/no.pem"}
    )


# --- who may come in


def test_authentication_needs_signed_requests_between_workers(credentials):
    """Else the paths for workers would be open to all."""
    wrong = start_error(rest_authentication_file=credentials, connect_protocol="compatible")

    assert "needs connect.protocol=sessioned" in wrong


@pytest.mark.parametrize(
    "text", ["", "# nobody\n", "alice:secret", "basic:alice:zz:00", "bearer:ci:00", "basic:alice:00", "x:y:z"]
)
def test_a_wrong_file_of_credentials_is_refused_without_showing_it(tmp_path, text):
    (tmp_path / "credentials").write_text(text)

    wrong = start_error(rest_authentication_file=str(tmp_path / "credentials"))

    assert str(tmp_path) in wrong
    assert "secret" not in wrong


def test_a_missing_file_of_credentials_is_named(tmp_path):
    assert "No such file" in start_error(rest_authentication_file=str(tmp_path / "credentials"))


def test_the_command_makes_lines_that_let_in(capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("correct horse\n"))
    assert main(["alice"]) == 0
    assert main(["--bearer", "ci"]) == 0
    shown = capsys.readouterr()
    token = shown.err.strip().rpartition(" ")[2]

    authentication = Authentication(parse_credentials(shown.out, "here"), threading.Lock())

    assert "correct horse" not in shown.out
    assert authentication.admits([b"Basic YWxpY2U6Y29ycmVjdCBob3JzZQ=="])
    assert authentication.admits([b"Bearer " + token.encode()])
    assert not authentication.admits([b"Basic YWxpY2U6d3Jvbmc="])
    assert not authentication.admits([b"Bearer " + token[:-1].encode()])


@pytest.mark.parametrize("name", ["a:b", "two words", ""])
def test_the_command_refuses_a_name_that_a_line_cannot_have(name, capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("correct horse\n"))

    for arguments in ([name], ["--bearer", name]):
        with pytest.raises(SystemExit):
            main(arguments)

    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.count("a name is printable, without blanks and colons") == 2
    assert "token" not in shown.err.replace("make a token", "")


# --- what it tells


def test_before_a_herder_is_there_requests_are_answered_with_503():
    server = ConnectRestServer.start(properties(), ThreadRuntime())
    try:
        address = server.url.removeprefix("http://")
        health = exchange(address, request("GET", "/health"))
        answered = exchange(address, request("GET", "/connectors"))
    finally:
        server.close()

    assert (health[0], health[1]["status"]) == (503, "starting")
    assert answered[0] == 503


@pytest.mark.parametrize("error", [RuntimeError, SystemExit])
def test_an_error_that_nobody_expected_tells_only_its_class(address, herder, caplog, error):
    """Its text may hold anything, so it goes to the log alone. A connector may also try to end the process."""

    def fail(_: str) -> None:
        raise error("password=canary")

    herder.before = fail

    status, answered = exchange(address, request("DELETE", "/connectors/c1"))

    assert (status, answered["message"]) == (500, f"Internal error: {error.__name__}")
    assert "canary" in caplog.text


def test_passwords_and_tokens_reach_no_log_and_no_answer(started, credentials, caplog):
    import logging

    address = started(rest_authentication_file=credentials).url.removeprefix("http://")
    with caplog.at_level(logging.DEBUG):
        good = exchange(address, request("GET", "/", Authorization="Basic YWxpY2U6Y29ycmVjdCBob3JzZQ=="))
        bad = exchange(address, request("GET", "/", Authorization="Basic Y2FuYXJ5OmNhbmFyeQ=="))

    texts = caplog.text + json.dumps([good, bad])
    assert [good[0], bad[0]] == [200, 401]
    assert [secret for secret in ("correct horse", "YWxpY2U6", "canary", "Y2FuYXJ5") if secret in texts] == []


def test_topics_that_are_not_tracked_are_refused(started):
    """Connect's `topic.tracking.enable`, `topic.tracking.allow.reset`."""
    off = started(topic_tracking_enable="false").url.removeprefix("http://")
    kept = started(topic_tracking_allow_reset="false").url.removeprefix("http://")

    assert exchange(off, request("GET", "/connectors/c1/topics"))[0] == 403
    assert exchange(kept, request("GET", "/connectors/c1/topics"))[0] == 200
    assert exchange(kept, request("PUT", "/connectors/c1/topics/reset"))[0] == 403


def test_openapi_describes_every_route_but_those_between_workers(address):
    _, described = exchange(address, request("GET", "/openapi.json"))

    shown = {(method.upper(), path) for path, methods in described["paths"].items() for method in methods}
    assert shown == {(route.method, route.path) for route in ROUTES if not route.internal}


def test_each_error_has_one_status_code():
    """No class stands behind one that includes it, where it would never be reached."""
    kinds = [kind for kind, _ in STATUSES]

    assert [late for at, late in enumerate(kinds) for early in kinds[:at] if issubclass(late, early)] == []
    assert all(issubclass(kind, EosfwError) for kind in kinds)


# --- the end


def test_closing_leaves_no_port_and_no_thread(started):
    before = set(threading.enumerate())
    server = started(listeners=f"http://127.0.0.1:{free_port()}")  # which nobody takes when it is free again
    address = server.url.removeprefix("http://")
    exchange(address, request("GET", "/connectors"))

    server.close()

    with pytest.raises(OSError, match="refused"):
        exchange(address, request("GET", "/connectors"))
    assert set(threading.enumerate()) - before == set()


class RequestUnderWay:
    """A request that the herder has begun with, and ends when it is let."""

    def __init__(self, server, herder, method: str, path: str) -> None:
        arrived, self._let = threading.Event(), threading.Event()

        def wait(_: str) -> None:
            arrived.set()
            self._let.wait(30)

        herder.before = wait
        self.answers = []
        address = server.url.removeprefix("http://")
        self._caller = threading.Thread(target=lambda: self.answers.append(exchange(address, request(method, path))))
        self._caller.start()
        assert arrived.wait(10)

    def end(self) -> None:
        self._let.set()
        self._caller.join(10)


def test_a_request_under_way_is_answered_when_the_server_closes(server, herder):
    restart = RequestUnderWay(server, herder, "POST", "/connectors/c1/restart")
    ending = threading.Thread(target=server.close)
    ending.start()
    restart.end()
    ending.join(10)

    assert [status for status, _ in restart.answers] == [404]


def test_a_request_that_takes_too_long_is_answered_with_a_sentence_when_the_server_closes(server, herder, caplog):
    """Nobody knows whether it was done; the log has no error that somebody would look into."""
    deletion = RequestUnderWay(server, herder, "DELETE", "/connectors/c1")
    server.close()
    deletion.end()

    ((status, answered),) = deletion.answers
    assert (status, answered["message"]) == (500, "The worker stops; the request may or may not have been done")
    assert caplog.records == []


def test_a_question_that_takes_too_long_may_be_asked_again_when_the_server_closes(server, herder):
    """Nothing is done by it, so a client need not look what became of it."""
    status = RequestUnderWay(server, herder, "GET", "/connectors/c1/status")
    server.close()
    status.end()

    ((code, answered),) = status.answers
    assert (code, answered["message"]) == (503, "The worker stops; ask another one of its group")
