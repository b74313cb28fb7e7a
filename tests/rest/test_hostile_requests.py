"""Requests that are wrong on purpose get the documented status code, and change nothing."""

from __future__ import annotations

import gzip
import json
import logging
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from eosfw.errors import RebalanceNeededError
from eosfw_rest.network.header_timeout import TimedProtocol

from .connect_calls import JAVA
from .raw_http import answer_of, connected, exchange, request, send_until_refused

MEGABYTE = 2**20


def body(config: dict[str, str | None], name: str = "c1") -> bytes:
    return json.dumps({"name": name, "config": config}).encode()


def properties(**changes: str | None) -> dict[str, str | None]:
    return {"connector.class": JAVA, "file": "x", "topic": "t"} | changes


def create(address: str, sent: bytes) -> tuple[int, object]:
    return exchange(address, request("POST", "/connectors", sent))


# --- sizes and framing


def test_a_body_that_is_declared_too_large_is_not_read(address):
    """1 GB."""
    head = f"Host: localhost\r\nContent-Type: application/json\r\nContent-Length: {2**30}\r\n"

    assert exchange(address, f"POST /connectors HTTP/1.1\r\n{head}\r\n".encode())[0] == 413


def test_a_chunked_body_without_end_is_cut_off_and_memory_stays_flat(address):
    """The client stops because the server closes, long before its 256 MB."""
    head = request("POST", "/connectors").replace(b"Content-Length: 0\r\n", b"")
    head = head.replace(b"\r\n\r\n", b"\r\nTransfer-Encoding: chunked\r\nContent-Type: application/json\r\n\r\n")
    chunk = b"10000\r\n" + bytes(65536) + b"\r\n"
    before = resident_memory()

    with connected(address) as sock:
        sent = send_until_refused(sock, chunks(head, chunk, 4096))

    assert sent < 64 * MEGABYTE
    assert resident_memory() - before < 64 * MEGABYTE


def test_large_bodies_without_a_login_together_have_a_limit_and_small_ones_pass(guarded):
    """What claims to be signed is read before its signature is checked: a thousand of 8 MB would end the worker."""
    address, token = guarded
    signed = {"X_Connect_Authorization": "c2ln", "Content_Type": "application/json"}
    small, large = (request("PUT", "/connectors/c1/fence", b" " * size, **signed) for size in (1, 8 * MEGABYTE))
    sockets = [connected(address) for _ in range(12)]
    try:
        for sock in sockets:
            send_until_refused(sock, [large[:-1]])

        assert exchange(address, small)[0] == 204
        assert exchange(address, request("GET", "/connectors", Authorization=f"Bearer {token}"))[0] == 200
        taken = 0
        for sock in sockets:
            send_until_refused(sock, [large[-1:]])
            with suppress(OSError, AssertionError):  # who is refused may find the connection closed
                taken += answer_of(sock)[0] == 204
    finally:
        for sock in sockets:
            sock.close()
    assert 0 < taken <= 8
    assert exchange(address, large)[0] == 204


def chunks(head: bytes, chunk: bytes, most: int) -> Iterator[bytes]:
    yield head
    for _ in range(most):
        yield chunk


def resident_memory() -> int:
    """Of this process, in which the server runs."""
    (line,) = [one for one in Path("/proc/self/status").read_text().splitlines() if one.startswith("VmRSS")]
    return int(line.split()[1]) * 1024


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (request("POST", "/connectors", gzip.compress(bytes(MEGABYTE)), Content_Encoding="gzip"), 415),
        (request("POST", "/connectors", b"{}", Transfer_Encoding="chunked"), 400),
        (request("POST", "/connectors", b"{}", Content_Length="2\r\nContent-Length: 3"), 400),
        (request("POST", "/connectors", b"{}", Content_Length="-1"), 400),
        (request("POST", "/connectors", b"{}", Content_Length="2x"), 400),
        (request("GET", "/" + "a" * 5000), 400),
        (b"GET http://[ HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\n\r\n", 400),
    ],
    ids=[
        "gzip",
        "CL+TE",
        "two lengths",
        "negative",
        "no number",
        "long path",
        "no path",
        "TLS",
        "no host",
    ],
)
def test_framing_that_two_readers_may_understand_differently_is_refused(address, sent, status):
    """Bombs are not unpacked, and no part of a body can become a request of its own."""
    assert exchange(address, sent)[0] == status


def test_a_head_without_end_is_cut_off(address):
    """The server closes with bytes unread, so its answer may be lost."""
    with connected(address) as sock:
        sent = send_until_refused(sock, chunks(b"GET / HTTP/1.1\r\nHost: localhost\r\nX: ", b"a" * MEGABYTE, 256))

    assert sent < 64 * MEGABYTE


def test_a_body_shorter_than_declared_times_out(address, monkeypatch):
    """`Content-Length` lies."""
    monkeypatch.setattr("eosfw_rest.network.application._BODY_SECONDS", 0.3)

    assert exchange(address, request("POST", "/connectors", b"{}", Content_Length="100"))[0] == 408


@pytest.mark.parametrize("first", [b"", b"G", b"GET / HTTP/1.1\r\nHost: localhost\r\nX: "])
def test_a_head_that_comes_byte_by_byte_times_out(address, monkeypatch, first):
    """Slowloris; each byte comes in time, the head does not."""
    monkeypatch.setattr(TimedProtocol, "seconds", 0.5)

    with connected(address) as sock:
        send_until_refused(sock, trickle(first, 15))
        assert answer_of(sock)[0] == 408


def trickle(first: bytes, count: int) -> Iterator[bytes]:
    yield first
    for _ in range(count):
        time.sleep(0.05)
        yield b"a"


def test_slow_clients_keep_nobody_else_waiting(address):
    """A hundred of them."""
    slow = [connected(address) for _ in range(100)]
    try:
        for sock in slow:
            sock.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n")
        assert exchange(address, request("GET", "/connectors")) == (200, [])
    finally:
        for sock in slow:
            sock.close()


def test_a_query_of_too_many_parameters_is_refused(address):
    status, answered = exchange(address, request("GET", "/connectors?" + "&".join("expand=info" for _ in range(101))))

    assert (status, answered["message"]) == (400, "The query has more than 100 parameters")


# --- JSON

DEEP = b'{"name": "c1", "config": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"


@pytest.mark.parametrize(
    ("sent", "position"),
    [
        (DEEP, 25 + 99),
        (b'{"offsets": [{"partition": {}, "offset": {"position": 1e400}}]}', 54),
        (b'{"offsets": [{"partition": {}, "offset": {"position": ' + b"1" * 100_000 + b"}}]}", 54),
        (b'{"offsets": "\\ud800"}', 12),
        (b'{"offsets": [], "offsets": []}', 16),
        (b'{"offsets": [{"offset": null, "offset": null}]}', 30),
        (b'\xef\xbb\xbf{"offsets": []}', 0),
        (b'{"offsets": []} {}', 16),
        (b'{"offsets": NaN}', 12),
        (b'{"offsets": "a\nb"}', 14),
        (b'{"offsets": "\xff"}', 13),
        (b"", 0),
        (b'{"a": "', 6),
    ],
    ids=["deep", "1e400", "digits", "surrogate", "key twice", "inner key twice", "BOM", "trailing", "NaN", "newline",
         "no UTF-8", "empty", "open string"],
)  # fmt: skip
def test_json_that_readers_disagree_on_is_refused_with_its_position(address, sent, position):
    status, answered = exchange(
        address, request("PATCH", "/connectors/c1/offsets", sent, Content_Type="application/json")
    )

    assert status == 400
    assert f" {position}" in answered["message"]


ESCAPED_QUOTES = b'"' + b'\\"' * (2 * MEGABYTE)
"""A string without an end, of four million characters of which every second one is a quote."""


@pytest.mark.parametrize(
    "sent",
    [ESCAPED_QUOTES, b'{"a": ' + ESCAPED_QUOTES, b'["' * MEGABYTE, b'"\x01' * MEGABYTE],
    ids=["escaped", "in an object", "nested", "control"],
)
def test_a_string_without_an_end_is_refused_in_a_time_that_grows_with_its_length_alone(guarded, sent):
    """Sent in the name of a worker, so that no password is asked for before the body is read."""
    address, _ = guarded
    headers = {"X-Connect-Authorization": "AAAA"}
    started_at = time.process_time()

    status, answered = exchange(address, request("POST", "/connectors/c1/tasks", sent, **headers))

    assert (status, answered["message"][:9]) == (400, "The body ")
    assert time.process_time() - started_at < 10


# --- names


@pytest.mark.parametrize("name", ["../x", "", "a\nb", "..", "."])
def test_a_connector_cannot_be_called_what_no_path_can_name(address, herder, name):
    """By the definition of connectors' names, which a worker validates with."""
    status, answered = create(address, body(properties(), name))

    assert status == 400
    assert "error(s):" in answered["message"] or "is no name of a connector" in answered["message"]
    assert herder.stored == {}


@pytest.mark.parametrize(
    "target", ["/connectors/%00", "/connectors/a%0ab", "/connectors/a%0d%0aX:y", "/connectors/%e2%80%ae"]
)
def test_control_characters_in_a_path_are_refused_and_escaped_in_logs(address, target, caplog):
    """No line of a log can be made up."""
    with caplog.at_level(logging.DEBUG):
        assert exchange(address, request("GET", target))[0] == 400

    assert all(line.isprintable() for line in caplog.text.splitlines())
    assert target in caplog.text


def test_an_emoji_names_a_connector(address, herder):
    """It is printable, so it is a name as any other."""
    assert create(address, body(properties(), "\N{ROCKET}"))[0] == 201
    assert exchange(address, request("GET", "/connectors/%F0%9F%9A%80/status"))[0] == 200


# --- states


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (request("PUT", "/connectors/c1/config", json.dumps(properties()).encode()), 409),
        (request("DELETE", "/connectors/c1"), 409),
        (request("POST", "/connectors/c1/restart"), 409),
        (request("POST", "/connectors/c1/tasks/0/restart"), 409),
        (request("DELETE", "/connectors/c1/offsets"), 409),
    ],
)
def test_what_a_rebalance_prevents_is_a_conflict_to_be_repeated(address, herder, sent, status):
    """409 with the time after which to try again; nothing has changed."""
    create(address, body(properties()))
    before = dict(herder.stored)

    def rebalancing(_: str) -> None:
        raise RebalanceNeededError("a rebalance is under way")

    herder.before = rebalancing

    got, answered = exchange(address, sent)

    assert (got, answered["error_code"]) == (status, status)
    assert herder.stored == before


def test_restarting_an_unknown_task_is_not_found(address):
    create(address, body(properties()))

    assert exchange(address, request("POST", "/connectors/c1/tasks/7/restart"))[0] == 404


# --- offsets

HERE = {"filename": "x"}


@pytest.mark.parametrize(
    ("offsets", "status"),
    [
        ([{"partition": HERE, "offset": {"position": 1}}, {"partition": HERE, "offset": None}], 400),
        ([{"partition": HERE, "offset": {"position": 1}}, {"partition": {"filename": "y"}, "offset": 5}], 400),
        ([{"partition": HERE}], 400),
        ([{"partition": None, "offset": {"position": 1}}], 400),
        ([{"partition": HERE, "offset": None, "extra": 1}], 400),
        # One list many times: else every process that collects tests would hold as many, and collect garbage slowly.
        ([{"partition": HERE, "offset": {"position": 1}}] * 200_000, 413),
    ],
    ids=["twice", "no object", "no offset", "no partition", "extra", "too many"],
)
def test_offsets_change_all_or_none(address, herder, offsets, status):
    create(address, body(properties()))
    before = list(herder.stored["c1"].offsets)
    sent = json.dumps({"offsets": offsets}).encode()

    assert exchange(address, request("PATCH", "/connectors/c1/offsets", sent))[0] == status
    assert herder.stored["c1"].offsets == before
