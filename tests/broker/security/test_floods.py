"""Thousands of connections of unknown clients, which say nothing or never end, leave the others served."""

from __future__ import annotations

import itertools
import os
import selectors
import socket
import time
from contextlib import closing, suppress

import pytest

from eosfw.concurrency import ThreadRuntime
from eosfw_memory.cluster import EmbeddedCluster
from eosfw_memory.common.codes import Code

from ..event_loop_clock import EventLoopClock
from .conftest import Authority, users
from .sasl_requests import Stranger
from .test_sasl_authentication import ALICE

HOSTILE = "127.0.0.2"
PATIENCE = 20.0
BEGINNINGS = {"SASL_PLAINTEXT": b"\0\0\0\x20\0\x11\0\1", "SASL_SSL": b"\x16\3\1\2\0\1"}
"""A frame of SaslHandshake, and a ClientHello, that never end."""
BYTES_EACH = 100_000
"""What a connection may cost at most, on average; one of TLS takes nearly as much, others little."""
SPARE_BYTES = 16 << 20


MANY = pytest.mark.parametrize(
    "connections", [90, pytest.param(3_000, marks=pytest.mark.nightly)], ids=["some", "thousands"]
)


class Flood:
    """The clients' ends of their connections, all from one address."""

    def __init__(self, cluster: EmbeddedCluster, come: int) -> None:
        self._selector = selectors.DefaultSelector()
        self.open = 0
        kinds = [(cluster.endpoints[name], sent) for name in BEGINNINGS for sent in (b"", BEGINNINGS[name])]
        for server, beginning in itertools.islice(itertools.cycle(kinds), come):
            self._begin(server, beginning)

    def _begin(self, server: str, beginning: bytes) -> None:
        host, port = server.split(":")
        made = socket.create_connection((host, int(port)), PATIENCE, source_address=(HOSTILE, 0))
        with suppress(ConnectionError):  # it may be closed already
            made.sendall(beginning)
        made.setblocking(False)
        self._selector.register(made, selectors.EVENT_READ)
        self.open += 1

    def see_closed(self) -> None:
        """Take note of connections that the broker has closed; wait for a moment if there is none."""
        for key, _ in self._selector.select(0.05):
            ended = False
            with suppress(BlockingIOError):
                try:
                    ended = key.fileobj.recv(4096) == b""
                except ConnectionError:
                    ended = True
            if ended:
                self._selector.unregister(key.fileobj)
                key.fileobj.close()
                self.open -= 1

    def close(self) -> None:
        for key in list(self._selector.get_map().values()):
            key.fileobj.close()
        self._selector.close()


def alice(cluster: EmbeddedCluster) -> Stranger:
    """A client that has authenticated itself."""
    made = Stranger(cluster.endpoints["SASL_PLAINTEXT"])
    assert made.handshake()["error_code"] == Code.NONE
    assert made.authenticate(ALICE)["error_code"] == Code.NONE
    return made


def memory() -> int:
    """Bytes that this process, with the broker and the clients in it, has in use."""
    with open("/proc/self/statm") as pages:
        return int(pages.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def wait_for(flood: Flood, left: int) -> None:
    deadline = time.monotonic() + PATIENCE
    while flood.open > left:
        assert time.monotonic() < deadline, f"{flood.open} connections are open"
        flood.see_closed()


def served(authority: Authority, **properties: str) -> EmbeddedCluster:
    """A broker whose clients must authenticate themselves, by TLS or without it."""
    logins = users("SASL_PLAINTEXT") | users("SASL_SSL")
    given = {
        "listeners": "SASL_PLAINTEXT://127.0.0.1:0,SASL_SSL://127.0.0.1:0",
        "sasl.enabled.mechanisms": "PLAIN",
        "ssl.keystore.location": authority.broker,
        **{name: text for name, text in logins.items() if ".plain." in name},
        **{name.replace("_", "."): text for name, text in properties.items()},
    }
    return EmbeddedCluster.start(given, ThreadRuntime())


@MANY
def test_a_flood_of_connections_takes_no_more_than_the_share_of_its_address(authority, until, connections):
    """SEC-37: the others are served meanwhile, and what the flood costs is bounded; its places come back."""
    may_stay = connections * 2 // 3
    cluster = served(authority, max_connections_per_ip=str(may_stay))
    with closing(cluster), closing(alice(cluster)) as known:
        before = memory()
        with closing(Flood(cluster, connections)) as flood:
            wait_for(flood, may_stay)
            with closing(alice(cluster)) as late:
                assert late.stays_open()
            assert known.stays_open()
            assert flood.open == may_stay
            assert memory() - before < may_stay * BYTES_EACH + SPARE_BYTES
        until(lambda: sum(cluster._server._quotas._by_address.values()) == 1)
        assert known.stays_open()


@MANY
def test_unauthenticated_connections_go_when_their_time_to_authenticate_is_over(authority, connections):
    """SEC-37: those who say nothing, and those whose request or handshake of TLS never ends."""
    cluster = served(authority, eosfw_authentication_timeout_ms="600000", connections_max_idle_ms="2000000000")
    with closing(cluster), closing(alice(cluster)) as known:
        clock = EventLoopClock(cluster)
        with closing(Flood(cluster, connections)) as flood:
            clock.put_forward(500)
            assert known.stays_open()
            flood.see_closed()
            assert flood.open == connections
            while flood.open:  # some may have been accepted since
                clock.put_forward(500)
                flood.see_closed()
        assert known.stays_open()
