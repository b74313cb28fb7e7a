from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from eosfw.concurrency import ThreadRuntime
from eosfw.config.worker import WORKER
from eosfw.observe import Announcer
from eosfw.protocols import Backend
from eosfw.registry import Plugins, load_plugins
from eosfw.runtime import DistributedHerder, WorkerSetup, worker_config
from eosfw_rest.authentication import password_line, token_line
from eosfw_rest.server import ConnectRestServer

from .in_memory_herder import InMemoryHerder

LOOPBACK = "http://127.0.0.1:0"


@pytest.fixture
def herder() -> InMemoryHerder:
    return InMemoryHerder()


@pytest.fixture
def credentials(tmp_path: Path) -> str:
    """The file that lets Alice in."""
    path = tmp_path / "credentials"
    path.write_text(password_line("alice", "correct horse") + "\n")
    return str(path)


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


@pytest.fixture
def worker(worker_herder: tuple[str, DistributedHerder]) -> str:
    """A worker of a group of its own: the address of its REST interface."""
    return worker_herder[0]


@pytest.fixture
def worker_plugins() -> Plugins:
    """The plugins of that worker."""
    return load_plugins()


@pytest.fixture
def worker_properties() -> dict[str, str]:
    """More properties of that worker."""
    return {}


@pytest.fixture
def worker_client(worker_plugins: Plugins) -> Iterator[Backend]:
    """The client of that worker, on an embedded cluster."""
    runtime = ThreadRuntime()
    with ExitStack() as undo:
        cluster = worker_plugins.cluster("memory").start({}, runtime)
        undo.callback(cluster.close)
        client = worker_plugins.backend("memory").connect({"bootstrap.servers": cluster.bootstrap_servers}, runtime)
        undo.callback(client.close)
        yield client


@pytest.fixture
def worker_herder(
    worker_client: Backend, worker_plugins: Plugins, worker_properties: dict[str, str]
) -> Iterator[tuple[str, DistributedHerder]]:
    """A worker of a group of its own: the address of its REST interface, and its herder."""
    runtime = ThreadRuntime()
    given = {"group.id": "rest", "listeners": LOOPBACK, "exactly.once.source.support": "enabled"}
    given |= {"offset.storage.partitions": "1", "status.storage.partitions": "1"} | worker_properties
    with ExitStack() as undo:
        config = worker_config(given, ConnectRestServer, plugins=worker_plugins)
        rest = ConnectRestServer.start(config, runtime)
        undo.callback(rest.close)
        setup = WorkerSetup(
            config=config,
            backend=worker_client,
            plugins=worker_plugins,
            announce=Announcer(()),
            runtime=runtime,
            rest=rest,
        )
        herder = DistributedHerder(setup)
        undo.callback(herder.stop, 2.0)
        herder.start()
        yield rest.url.removeprefix("http://"), herder


@pytest.fixture
def guarded(started: Callable[..., ConnectRestServer], tmp_path: Path) -> tuple[str, str]:
    """A REST interface with one user and one token: its address and the token."""
    token, line = token_line("ci")
    (tmp_path / "credentials").write_text(f"{password_line('alice', 'correct horse')}\n# of the CI\n{line}\n")
    server = started(rest_authentication_file=str(tmp_path / "credentials"))
    return server.url.removeprefix("http://"), token
