"""A page of another site whose name resolves to loopback reaches no worker (DNS rebinding)."""

from __future__ import annotations

import pytest

from eosfw_rest.authentication import token_line

from .raw_http import exchange, request


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "LOCALHOST:8083",
        "127.0.0.1:8083",
        "[::1]:8083",
        "[::1]",
        "10.0.0.7",
        "w1.localhost:80",
        "w1.example:1",
    ],
)
def test_a_worker_answers_to_its_own_names(started, host):
    address = started(rest_advertised_host_name="w1.example").url.rpartition(":")[2]

    assert exchange(f"127.0.0.1:{address}", request("GET", "/", Host=host))[0] == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8083", "localhost.evil.example", "127.0.0.1.evil.example", ""]
)
@pytest.mark.parametrize(("method", "path"), [("GET", "/"), ("POST", "/connectors"), ("GET", "/openapi.json")])
def test_a_foreign_name_is_refused_in_a_sentence(address, herder, host, method, path):
    body = b'{"name": "c", "config": {"connector.class": "file"}}' if method == "POST" else b""

    status, answer = exchange(address, request(method, path, body, Host=host))

    assert status == 403
    assert f"{host!r} is no name of this worker" in answer["message"]
    assert not herder.stored


def test_whoever_signs_in_may_use_any_name(started, tmp_path):
    """A page of another site has no token, and workers behind a proxy have the names that it gives them."""
    token, line = token_line("ci")
    (tmp_path / "credentials").write_text(line + "\n")
    address = started(rest_authentication_file=str(tmp_path / "credentials")).url.removeprefix("http://")

    assert exchange(address, request("GET", "/", Host="proxy.example", Authorization=f"Bearer {token}"))[0] == 200
    assert exchange(address, request("GET", "/", Host="proxy.example"))[0] == 401
