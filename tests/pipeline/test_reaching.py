"""A cluster where nobody listens is told within moments, by name (ruling 17)."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from eosfw.errors import ClusterUnavailableError
from eosfw.pipeline.reaching import require_reachable
from eosfw.waiting import Spawned, ThreadRuntime
from ports import free_port


class Watched(ThreadRuntime):
    """Tells which addresses were tried, how often somebody waited before another try."""

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
    """Return once somebody lets us in; give the addresses that were tried."""
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

    with pytest.raises(ClusterUnavailableError) as told:
        reach(f"{one}, SASL_SSL://{other}")

    assert f"{one} (Connection refused)" in str(told.value)
    assert f"{other} (Connection refused)" in str(told.value)


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
            """The broker listens as soon as somebody has found that it does not."""

            def sleep(self, seconds: float) -> None:
                self.waits += 1
                opened.enter_context(socket.create_server(("127.0.0.1", int(address.rpartition(":")[2]))))

        starting = Starting()
        reach(address, starting)

        assert starting.waits == 1


@pytest.mark.parametrize("servers", ["", "nonsense", "host:port", "127.0.0.1:1,nonsense"])
def test_what_is_no_address_is_left_to_the_client_to_refuse(servers) -> None:
    """None of them is tried, not even those that can be read."""
    assert reach(servers) == []


@pytest.mark.parametrize("servers", ["127.0.0.1:99999", "a..b:1"])
def test_an_address_that_cannot_be_is_no_crash(servers) -> None:
    with pytest.raises(ClusterUnavailableError, match="no broker listens"):
        reach(servers)
