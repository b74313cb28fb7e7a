"""The fixtures; each imports what it needs when a test uses it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_eos.environment.clusters.cleanup import CREATED_RESOURCES
from pytest_eos.environment.config import clocks
from pytest_eos.environment.config.options import SETTINGS
from pytest_eos.environment.config.session_statistics import HARNESSES, STATISTICS, give_up

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from eosfw.concurrency import Runtime
    from pytest_eos.environment.clusters.cluster import Cluster
    from pytest_eos.environment.clusters.faults import BrokerFaults
    from pytest_eos.environment.config.markers import ClusterSpec, ZombieSpec
    from pytest_eos.harness import EosHarness
    from pytest_eos.zombies import Zombies


@pytest.fixture(scope="session")
def eos_unavailable(request: pytest.FixtureRequest) -> Any:
    """Call with (`kafka` or `spark`, reason): skips the test, or fails it when `--eos-require` promised that."""
    config = request.config
    return partial(give_up, config.stash[SETTINGS].required, config.stash[STATISTICS])


@pytest.fixture
def eos_backend(request: pytest.FixtureRequest) -> str:
    """The name of the backend under the test."""
    param: str | None = getattr(request, "param", None)
    if param is not None:
        return param
    from pytest_eos.environment.config.markers import backends

    return backends(None, request.config.stash[SETTINGS].backends, "--eos-backend")[0]


@pytest.fixture
def eos_zombie_spec(request: pytest.FixtureRequest) -> ZombieSpec | None:
    """The zombie that the test's marker asks for."""
    zombie_spec: ZombieSpec | None = getattr(request, "param", None)
    if zombie_spec is not None and zombie_spec.who is not None:
        from pytest_eos.runs.queries.spark import problem

        if why := problem():
            request.getfixturevalue("eos_unavailable")("spark", why)
    return zombie_spec


@pytest.fixture
def eos_cluster(request: pytest.FixtureRequest, eos_backend: str) -> Iterator[Cluster]:
    """A cluster: embedded and fresh for each test, or the one of `--eos-bootstrap-servers`.

    It runs in virtual time, as the harness `eos` does, if everything of the test is in this process.
    """
    from pytest_eos.environment.clusters.cluster import running, serving, virtual

    options, node = request.config.stash[SETTINGS], request.node
    wanted, address = _cluster_spec(request), options.bootstrap_servers
    if "eos" in request.fixturenames and _is_virtual(request, eos_backend):
        chosen = virtual(f"{options.seed} {node.nodeid}" if options.seed else None)
    else:
        chosen = serving(wanted) if address is None else running(address, options.client)
    with chosen as cluster:
        if cluster.local is None:
            made = request.config.stash[CREATED_RESOURCES]
            made.clusters.setdefault(cluster.bootstrap_servers, (eos_backend, cluster.client))
        yield cluster


@pytest.fixture
def eos_clock(request: pytest.FixtureRequest, eos_backend: str) -> Runtime:
    """The clock of a test without a cluster: virtual if that of the fixture `eos` would be."""
    from pytest_eos.environment.clusters.cluster import runtime
    from pytest_eos.virtual import VirtualRuntime

    return VirtualRuntime() if _is_virtual(request, eos_backend) else runtime()


def _is_virtual(request: pytest.FixtureRequest, backend: str) -> bool:
    options, node = request.config.stash[SETTINGS], request.node
    zombie: ZombieSpec | None = getattr(node, "callspec", None) and node.callspec.params.get("eos_zombie_spec")
    in_the_way = clocks.obstacles(
        backend,
        options.bootstrap_servers,
        request.fixturenames,
        None if zombie is None else zombie.who,
        _cluster_spec(request).security,
    )
    return clocks.is_virtual(clocks.clock_of(node) or options.clock, in_the_way, node.nodeid)


def _cluster_spec(request: pytest.FixtureRequest) -> ClusterSpec:
    from pytest_eos.environment.config.markers import cluster_spec

    options, node = request.config.stash[SETTINGS], request.node
    marker = node.get_closest_marker("eos_cluster")
    if marker is not None and options.bootstrap_servers is not None:
        raise pytest.UsageError(
            f"{node.nodeid}: eos_cluster is about embedded clusters; leave out "
            f"--eos-bootstrap-servers={options.bootstrap_servers}"
        )
    return cluster_spec(marker, options.security, node.nodeid)


@pytest.fixture
def eos(
    request: pytest.FixtureRequest,
    eos_cluster: Cluster,
    eos_backend: str,
    eos_zombie_spec: ZombieSpec | None,
    tmp_path: Path,
) -> Iterator[EosHarness]:
    """The harness on the cluster: workers, runs, zombies, assertions."""
    from pytest_eos.environment.diagnostics import rerun
    from pytest_eos.environment.diagnostics.watchdog import watching
    from pytest_eos.harness import EosHarness
    from pytest_eos.runs.groups.worker_harness import HarnessSettings

    options, again = request.config.stash[SETTINGS], rerun.command(request.node)
    settings = HarnessSettings(request.node.nodeid, tmp_path, options.seed, options.patience, options.required, again)
    made = request.config.stash[CREATED_RESOURCES] if eos_cluster.local is None else None
    statistics = request.config.stash[STATISTICS]
    with EosHarness(
        eos_cluster, eos_backend, settings, zombie_spec=eos_zombie_spec, statistics=statistics, created=made
    ) as eos:
        eos.require_capabilities("transactions", "read_committed")  # without them nothing is exactly once
        for marker in request.node.iter_markers("eos_backend"):
            eos.require_capabilities(*marker.kwargs.get("needs", ()))
        harnesses = request.node.stash.setdefault(HARNESSES, [])
        harnesses.append(eos)
        watched = watching(request.node.parent.stash, eos.plugins.calls, options.patience, virtual=True)
        with watched if eos_cluster.virtual else nullcontext():
            yield eos
        harnesses.remove(eos)  # pytest keeps every item until the end of the session, and its stash with it


@pytest.fixture
def zombies(eos: EosHarness) -> Zombies:
    """Freeze tasks, or whole workers, at named steps; wake them later. A zombie that never froze fails the test."""
    return eos.zombies


@pytest.fixture
def faults(eos: EosHarness) -> BrokerFaults:
    """Lose answers, repeat requests, restart the broker at named points. A fault that never happened fails the test."""
    return eos.faults


@pytest.fixture(scope="session")
def _eos_spark(eos_unavailable: Any) -> Iterator[SparkSession]:
    from pytest_eos.runs.queries.spark import problem, session

    if why := problem():
        eos_unavailable("spark", why)
    with session() as spark:
        yield spark


@pytest.fixture
def eos_spark(_eos_spark: SparkSession) -> SparkSession:
    """A Spark session, started by the first test that uses it; skips, with a remedy, without Spark or Java."""
    return _eos_spark
