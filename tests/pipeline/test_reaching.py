"""A cluster where nobody listens is told within moments, by name (ruling 17)."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from eosfw.errors import ClusterUnavailableError
from eosfw.pipeline.reaching import require_reachable
from eosfw.waiting import ThreadRuntime


def reach(servers: str, runtime: ThreadRuntime | None = None, **more: str) -> None:
    require_reachable({"bootstrap.servers": servers, **more}, runtime or ThreadRuntime())


def free_address() -> str:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"127.0.0.1:{server.getsockname()[1]}"


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

    with pytest.raises(ClusterUnavailableError) as told:
        reach(f"{one}, SASL_SSL://{other}")

    assert f"{one} (Connection refused)" in str(told.value)
    assert f"{other} (Connection refused)" in str(told.value)


def test_a_host_of_no_known_name_is_named() -> None:
    with pytest.raises(ClusterUnavailableError, match=r"no-such-host\.invalid:9092 \("):
        reach("no-such-host.invalid:9092")


def test_one_address_that_listens_is_enough(listening, silent) -> None:
    """Also while another one keeps silent for longer than any test may take."""
    reach(f"{free_address()},{silent},{listening}", **{"socket.connection.setup.timeout.ms": "600000"})


def test_silence_ends_after_the_time_that_a_connection_may_take(silent) -> None:
    with pytest.raises(ClusterUnavailableError, match=r"nothing within 0\.2 s"):
        reach(silent, **{"socket.connection.setup.timeout.ms": "200"})


def test_a_broker_that_is_about_to_start_is_waited_for() -> None:
    address = free_address()
    with ExitStack() as opened:

        class Starting(ThreadRuntime):
            """The broker listens as soon as somebody has found that it does not."""

            def sleep(self, seconds: float) -> None:
                opened.enter_context(socket.create_server(("127.0.0.1", int(address.rpartition(":")[2]))))

        reach(address, Starting())


@pytest.mark.parametrize("servers", ["", "nonsense", "host:port", "127.0.0.1:1,nonsense"])
def test_what_is_no_address_is_left_to_the_client_to_refuse(servers) -> None:
    reach(servers)


@pytest.mark.parametrize("servers", ["127.0.0.1:99999", "a..b:1"])
def test_an_address_that_cannot_be_is_no_crash(servers) -> None:
    with pytest.raises(ClusterUnavailableError, match="no broker listens"):
        reach(servers)
