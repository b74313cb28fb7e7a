from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from eosfw.concurrency import ThreadRuntime
from eosfw.config.worker import WORKER
from eosfw_rest.server import ConnectRestServer

from .in_memory_herder import InMemoryHerder

LOOPBACK = "http://127.0.0.1:0"


@pytest.fixture
def herder() -> InMemoryHerder:
    return InMemoryHerder()


@pytest.fixture
def started(herder: InMemoryHerder) -> Iterator[Callable[..., ConnectRestServer]]:
    """Start a REST interface at a free port, with properties; it serves the herder."""
    servers = []

    def start(**properties: str) -> ConnectRestServer:
        given = {"group.id": "rest", "listeners": LOOPBACK} | {
            key.replace("_", "."): text for key, text in properties.items()
        }
        server = ConnectRestServer.start((WORKER + ConnectRestServer.config).parse(given), ThreadRuntime())
        servers.append(server)
        server.serve(herder)
        return server

    yield start
    for server in servers:
        server.close()


@pytest.fixture
def server(started: Callable[..., ConnectRestServer]) -> ConnectRestServer:
    return started()


@pytest.fixture
def address(server: ConnectRestServer) -> str:
    return server.url.removeprefix("http://")
