"""An unreachable cluster is reported quickly with its address."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from eosfw.concurrency import Spawned, ThreadRuntime
from eosfw.errors import ClusterUnavailableError, SslAuthenticationError
from eosfw.pipeline.definition import connectivity
from eosfw.pipeline.definition.connectivity import require_reachable
from ports import free_port


class Watched(ThreadRuntime):
    """Records the tried addresses and the waits between tries."""

    def __init__(self) -> None:
        self.tried: list[str] = []
        self.waits = 0

    def spawn(self, name: str, target: Callable[[], None]) -> Spawned:
        self.tried.append(name.removeprefix("eosfw-reach-"))
        return super().spawn(name, target)

    def sleep(self, seconds: float) -> None:
        self.waits += 1
        super().sleep(seconds)


def reach(servers: str, runtime: Watched | None = None, **more: str) -> list[str]:
    """Return the tried addresses once a connection is accepted."""
    watched = runtime or Watched()
    require_reachable({"bootstrap.servers": servers, **more}, watched)
    return watched.tried


def free_address() -> str:
    return f"127.0.0.1:{free_port()}"


@pytest.fixture
def listening() -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


@pytest.fixture
def silent() -> Iterator[str]:
    """Where connections neither open nor are refused: the queue of those who wait is full."""
    with ExitStack() as opened:
        server = opened.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        for _ in range(4):
            waiting = opened.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(server.getsockname())
        yield f"127.0.0.1:{server.getsockname()[1]}"


def test_every_address_that_refuses_is_named_with_its_reason() -> None:
    one, other = free_address(), free_address()

    with pytest.raises(ClusterUnavailableError) as reported:
        reach(f"{one}, SASL_SSL://{other}")

    assert f"{one} (Connection refused)" in str(reported.value)
    assert f"{other} (Connection refused)" in str(reported.value)


def test_a_host_of_no_known_name_is_named() -> None:
    with pytest.raises(ClusterUnavailableError, match=r"no-such-host\.invalid:9092 \("):
        reach("no-such-host.invalid:9092")


def test_one_address_that_listens_is_enough(listening, silent) -> None:
    """Also while another one keeps silent for longer than any test may take."""
    closed = free_address()

    tried = reach(f"{closed},{silent},{listening}", **{"socket.connection.setup.timeout.ms": "600000"})

    assert tried == [closed, silent, listening]


def test_silence_ends_after_the_time_that_a_connection_may_take(silent) -> None:
    with pytest.raises(ClusterUnavailableError, match=r"nothing within 0\.2 s"):
        reach(silent, **{"socket.connection.setup.timeout.ms": "200"})


def test_a_broker_that_is_about_to_start_is_waited_for() -> None:
    address = free_address()
    with ExitStack() as opened:

        class Starting(Watched):
            """The broker starts to listen after the first refused connection, and no time goes by until then."""

            def now(self) -> float:
                return 0.0

            def sleep(self, seconds: float) -> None:
                self.waits += 1
                opened.enter_context(socket.create_server(("127.0.0.1", int(address.rpartition(":")[2]))))

        starting = Starting()
        reach(address, starting)

        assert starting.waits == 1


@pytest.mark.parametrize("servers", ["", "nonsense", "host:port", "127.0.0.1:1,nonsense"])
def test_a_malformed_address_is_left_to_the_client(servers) -> None:
    """None of them is tried, not even those that can be read."""
    assert reach(servers) == []


@pytest.mark.parametrize("servers", ["127.0.0.1:99999", "a..b:1"])
def test_an_address_that_cannot_be_is_no_crash(servers) -> None:
    with pytest.raises(ClusterUnavailableError, match="no broker listens"):
        reach(servers)


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for an answer that comes: who keeps silent for a second is left to the client, as a busy machine may."""
    for name in ("first_bytes", "confirmed_check"):
        monkeypatch.setattr(connectivity, name, partial(getattr(connectivity, name), timeout=60.0))


TLS_ALERT = bytes.fromhex("15030100020246")


@pytest.fixture
def answering(patient: None) -> Iterator[Callable[[bytes], str]]:
    """A server that gives each connection the same answer."""
    with ExitStack() as opened:

        def serve(answer: bytes) -> str:
            server = opened.enter_context(socket.create_server(("127.0.0.1", 0)))

            def answer_all() -> None:
                while True:
                    try:
                        connection = server.accept()[0]
                    except OSError:
                        return
                    with connection:
                        connection.recv(100)
                        connection.sendall(answer)

            opened.callback(ThreadRuntime().spawn("answering", answer_all).join, 5)
            opened.callback(server.shutdown, socket.SHUT_RDWR)
            return f"127.0.0.1:{server.getsockname()[1]}"

        yield serve


@pytest.mark.parametrize(
    ("answer", "who"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "answers with HTTP: this is a web server's port"),
        (b"SSH-2.0-OpenSSH_9.2p1\r\n", "answers with SSH"),
    ],
)
def test_a_client_of_another_protocol_is_named(answering, answer, who) -> None:
    address = answering(answer)

    with pytest.raises(ClusterUnavailableError) as reported:
        reach(address)

    assert f"{address} ({who}" in str(reported.value)


def test_a_client_without_tls_learns_that_the_broker_has_it(answering) -> None:
    address = answering(TLS_ALERT)

    with pytest.raises(SslAuthenticationError, match="answers with TLS: set security"):
        reach(address)


@pytest.mark.parametrize("more", [{"security.protocol": "SSL"}, {"security.protocol": "sasl_ssl"}])
def test_a_client_with_tls_learns_that_it_shares_no_version_with_the_broker(answering, more) -> None:
    with pytest.raises(SslAuthenticationError, match="the two share no version or cipher of TLS"):
        reach(answering(TLS_ALERT), **more)


def test_a_scheme_of_tls_is_left_to_the_client(answering) -> None:
    address = answering(TLS_ALERT)

    assert reach(f"SSL://{address}") == [address]


@pytest.mark.parametrize("answer", [b"", bytes.fromhex("0000000a0d0a0d0a00230000"), b"\x15"])
def test_kafka_and_unknown_brokers_are_accepted(answering, answer) -> None:
    address = answering(answer)

    assert reach(address) == [address]


@pytest.mark.usefixtures("patient")
def test_a_web_server_that_reads_lines_is_named() -> None:
    with HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as server:
        served = ThreadRuntime().spawn("web", server.serve_forever)
        with pytest.raises(ClusterUnavailableError, match="answers with HTTP"):
            reach(f"127.0.0.1:{server.server_port}")
        server.shutdown()
        served.join(5)


def test_a_broker_is_let_in_at_once(embedded) -> None:
    watched = Watched()

    assert reach(embedded, watched) == [embedded]
    assert watched.waits == 0
