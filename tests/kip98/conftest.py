"""Give each test of KIP-98 a `BackendHarness` for every backend and cluster."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from eosfw.concurrency import Runtime, ThreadRuntime
from eosfw.protocols import Backend, Fencer
from eosfw_memory.cluster import EmbeddedCluster
from kip98.clients import PARAMS, ClientOnCluster
from pytest_eos.contracts.backends.harness import BackendHarness
from pytest_eos.environment.config.installed_plugins import installed_plugins


@pytest.fixture
def runtime() -> Runtime:
    """Real threads, the real clock."""
    return ThreadRuntime()


@pytest.fixture(scope="session", params=PARAMS)
def way(request: pytest.FixtureRequest) -> ClientOnCluster:
    """Each client and cluster in turn."""
    return request.param  # type: ignore[no-any-return]


@pytest.fixture
def own_cluster(runtime: Runtime) -> Iterator[EmbeddedCluster]:
    """A cluster of one test, which may restart or stop it."""
    cluster = EmbeddedCluster.start({}, runtime)
    yield cluster
    cluster.close()


@pytest.fixture(scope="module")
def module_cluster() -> Iterator[EmbeddedCluster]:
    """A cluster of one module alone, to be told what to answer; each test has names of its own."""
    cluster = EmbeddedCluster.start({}, ThreadRuntime())
    yield cluster
    cluster.close()


@pytest.fixture
def backend(way: ClientOnCluster, runtime: Runtime, request: pytest.FixtureRequest) -> Backend:
    """A client of the cluster."""
    return way.connect(request.getfixturevalue(way.cluster), runtime)


@pytest.fixture
def lab(backend: Backend, runtime: Runtime) -> Iterator[BackendHarness]:
    """A `BackendHarness` that is closed after the test."""
    lab = BackendHarness(backend, runtime)
    yield lab
    lab.close()


@pytest.fixture
def fencer(backend: Backend, runtime: Runtime) -> Iterator[Fencer]:
    """The fencer that is installed for the backend."""
    fencer = installed_plugins().fencer(backend.name).connect(backend, {}, runtime)
    yield fencer
    fencer.close()
