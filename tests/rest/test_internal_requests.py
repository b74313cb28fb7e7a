"""Requests between workers, as a whole worker checks them over the wire (KIP-507)."""

from __future__ import annotations

import json
import time

import pytest

from .raw_http import exchange, request

FENCE = "/connectors/c1/fence"


@pytest.fixture
def signed(worker_herder, tmp_path):
    """A worker that runs the connector c1; what signs a request with its group's key."""
    address, herder = worker_herder
    (tmp_path / "lines.txt").write_text("one\n")
    config = {"connector.class": "file", "file": str(tmp_path / "lines.txt"), "topic": "lines"}
    assert exchange(address, request("PUT", "/connectors/c1/config", json.dumps(config).encode()))[0] == 201
    deadline = time.monotonic() + 60
    while exchange(address, request("GET", "/connectors/c1/tasks/0/status"))[0] != 200:
        assert time.monotonic() < deadline
        time.sleep(0.1)

    def headers(path: str = FENCE, method: str = "PUT", body: bytes = b"") -> dict[str, str]:
        return dict(herder._parts.signatures.headers(herder.name, method, path, body))

    return address, headers


def fence(address: str, headers: dict[str, str], path: str = FENCE) -> int:
    return exchange(address, request("PUT", path, **headers))[0]


def test_a_signed_request_is_obeyed_once(signed):
    """SEC-02: whoever sees it cannot send it again."""
    address, headers = signed
    one = headers()

    assert [fence(address, one), fence(address, one), fence(address, headers())] == [204, 403, 204]


def test_a_wrong_signature_is_refused_with_a_status_that_says_which(signed):
    """SEC-03: by the check whose every answer tests/state has; Kafka Connect signs a body, and this one is empty."""
    address, headers = signed

    assert fence(address, {}) == 400
    assert fence(address, {**headers(), "X-Connect-Authorization": "c2ln"}) == 403
    assert fence(address, headers(), "/connectors/c2/fence") == 403
    assert fence(address, headers(), f"{FENCE}?forward=true") == 403


def test_task_configurations_are_signed_with_their_body(signed):
    """Row 17."""
    address, headers = signed
    sent = headers("/connectors/c1/tasks", "POST", b"[]")

    assert exchange(address, request("POST", "/connectors/c1/tasks", b'[{"a": "b"}]', **sent))[0] == 403
