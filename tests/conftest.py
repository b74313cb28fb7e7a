"""Offer the clusters that tests run against."""

from __future__ import annotations

import gc
import importlib
import os
import pkgutil
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn

import pytest
from hypothesis import HealthCheck, settings

from eosfw.concurrency import ThreadRuntime
from eosfw.security import confirmed_check, first_authentication

sys.path.insert(0, str(Path(__file__).parent))  # so that every import mode finds `real_kafka`

from authorized_kafka import AuthorizedKafka
from first_collection import collected_once
from real_kafka import QUICK, SETTINGS, RealKafka, RealKafkaUnavailableError, wait_for_coordinators
from spark_classes import archive_classes, java_options

# A busy machine is no error of what is tested.
settings.register_profile("exploring", deadline=None, suppress_health_check=[HealthCheck.too_slow])
# The same cases in every run: what a change did not break does not fail beside it. New ones are for the night.
settings.register_profile("repeatable", settings.get_profile("exploring"), derandomize=True)
GRACE = 5.0
SHARED_KAFKA = pytest.StashKey[RealKafka]()
"""In the controlling process of pytest-xdist."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """A running cluster: `name` is `embedded` or `kafka`."""

    name: str
    bootstrap_servers: str


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[Any]:
    """Spare the garbage collector what is collected: ten thousand tests, which stay until the end.

    It would walk through them again and again while they are made, and whenever a pytest within a test ends.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("eos")
    group.addoption("--eos-kafka", metavar="HOST:PORT", help="use this running Kafka instead of starting one")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "kafka: needs a real Apache Kafka (Java 17+, jars from Maven Central)")
    config.addinivalue_line("markers", "spark: needs PySpark with Java 17+")
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as a shell's background job has it, with all it starts
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:  # as under nohup; what tests start has the default again
        signal.signal(signal.SIGHUP, lambda *_: None)
    # They were read; a pytest that a test starts would take them, too, and write its report over that of this run.
    os.environ.pop("PYTEST_ADDOPTS", None)
    # Whatever starts Spark inherits these.
    os.environ |= {"SPARK_LAUNCHER_OPTS": " ".join(QUICK), "SPARK_SUBMIT_OPTS": java_options()}
    settings.load_profile(config.getoption("--hypothesis-profile", None) or "repeatable")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes(config: pytest.Config) -> None:
    """Make what the workers share: bytecode; where `-m` asks for its tests, a real Kafka, an archive of classes."""
    wanted = config.option.markexpr
    with collected_once(config.args, wanted):
        if find_spec("pyspark") and "not spark" not in wanted and any(marker in wanted for marker in ("spark", "ci")):
            archive_classes()
        named = any(marker in wanted for marker in ("kafka", "spark", "ci", "nightly"))
        if not named or "not kafka" in wanted or config.getoption("--eos-kafka"):
            return
        with suppress(RealKafkaUnavailableError):  # then each worker tries, and says why it cannot
            config.stash[SHARED_KAFKA] = shared = RealKafka.start()
            wait_for_coordinators(shared.bootstrap_servers)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    if SHARED_KAFKA in node.config.stash:
        node.workerinput["eos_kafka"] = node.config.stash[SHARED_KAFKA].bootstrap_servers


def pytest_unconfigure(config: pytest.Config) -> None:
    if SHARED_KAFKA in config.stash:
        config.stash[SHARED_KAFKA].stop()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests of the nightly lane unless `-m` names it."""
    if "nightly" in config.option.markexpr:
        return
    nightly = [item for item in items if item.get_closest_marker("nightly")]
    if nightly:
        config.hook.pytest_deselected(items=nightly)
        items[:] = [item for item in items if item not in nightly]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    with _kafka_or_skip(item.config):
        yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    with _kafka_or_skip(item.config):
        yield


@contextmanager
def _kafka_or_skip(config: pytest.Config) -> Iterator[None]:
    """Where Kafka cannot be started, a test that needs one is skipped, or fails if it is required."""
    try:
        yield
    except RealKafkaUnavailableError as why:
        _give_up(config, "kafka", str(why))


@pytest.fixture(scope="session")
def unavailable(request: pytest.FixtureRequest) -> Callable[[str, str], NoReturn]:
    """Call with (`kafka` or `spark`, reason): skips the test, or fails it when `--eos-require` promised that."""
    return partial(_give_up, request.config)


def _give_up(config: pytest.Config, what: str, reason: str) -> NoReturn:
    # The option is pytest-eos's, which some environments do without.
    given = config.getoption("eos_require", None) or []
    required = {name.strip() for names in given for name in names.split(",")}
    if what in required:
        pytest.fail(f"{what} is required by --eos-require, but: {reason}", pytrace=False)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def real_kafka(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a real Kafka, shared by all tests: use topics and ids of your own."""
    if shared := getattr(request.config, "workerinput", {}).get("eos_kafka"):
        yield shared
        return
    if running := request.config.getoption("--eos-kafka"):
        wait_for_coordinators(running)
        yield running
        return
    node = RealKafka.start(tmp_path_factory.mktemp("kafka"))
    try:
        wait_for_coordinators(node.bootstrap_servers)
        yield node.bootstrap_servers
    finally:
        node.stop()


@pytest.fixture(scope="session")
def kafka_with_acls(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AuthorizedKafka]:
    """One node for the session; what a test grants is taken back after it."""
    node = AuthorizedKafka.start(tmp_path_factory.mktemp("kafka-acl"))
    try:
        yield node
    finally:
        node.stop()


@pytest.fixture
def secured(kafka_with_acls: AuthorizedKafka) -> Iterator[AuthorizedKafka]:
    """The node, with no rights granted to anybody."""
    kafka_with_acls.revoke_everything()
    yield kafka_with_acls
    kafka_with_acls.revoke_everything()


@pytest.fixture(scope="session")
def embedded() -> Iterator[str]:
    """The address of an embedded broker in this process, shared by all tests: use topics and ids of your own."""
    same = (
        "auto.create.topics.enable",
        "transaction.abort.timed.out.transaction.cleanup.interval.ms",
        "group.consumer.heartbeat.interval.ms",
        "group.consumer.min.heartbeat.interval.ms",
        "log.retention.check.interval.ms",
    )
    properties = {name: SETTINGS[name] for name in same}  # what tests rely on is alike on both clusters
    cluster = pytest.importorskip("eosfw_memory.cluster").EmbeddedCluster.start(properties, ThreadRuntime())
    yield cluster.bootstrap_servers
    cluster.close()


@pytest.fixture(scope="session", params=["embedded", pytest.param("kafka", marks=pytest.mark.kafka)])
def cluster(request: pytest.FixtureRequest) -> Cluster:
    """Each cluster in turn, so that one test says the same of both."""
    fixture = {"embedded": "embedded", "kafka": "real_kafka"}[request.param]
    return Cluster(request.param, request.getfixturevalue(fixture))


@pytest.fixture(autouse=True)
def no_thread_is_left_behind() -> Iterator[None]:
    """Fail a test that leaves threads which would keep the process alive."""
    before = set(threading.enumerate())
    yield
    left = [thread for thread in threading.enumerate() if thread not in before and not thread.daemon]
    for thread in left:
        thread.join(GRACE)
    names = [thread.name for thread in left if thread.is_alive()]
    if names:
        pytest.fail(f"threads left behind: {', '.join(names)}")


@pytest.fixture
def brief_first_contact(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spend little of a test on asking a silent server about its security, which may take 1.5 s each time."""
    monkeypatch.setattr(first_authentication, "confirmed_check", partial(confirmed_check, timeout=0.1))


@pytest.fixture(scope="session")
def imported_for_good() -> None:
    """Import what must not be imported a second time.

    A run of pytester in this process removes the modules that it was first to import. kafka-python finds the classes of
    responses by weak references, so every later client of the process would wait in vain for its first answer; the
    compiled part of cryptography knows the classes of the first import alone, and refuses those of another.
    """
    if find_spec("cryptography"):
        importlib.import_module("cryptography.x509")
    if find_spec("eosfw_kafka_python"):
        import eosfw_kafka_python

        with warnings.catch_warnings(action="ignore"):  # its own, at import
            for module in pkgutil.iter_modules(eosfw_kafka_python.__path__, "eosfw_kafka_python."):
                importlib.import_module(module.name)


@pytest.fixture
def pytester(imported_for_good: None, pytester: pytest.Pytester) -> pytest.Pytester:
    return pytester


@pytest.fixture(scope="session")
def running_postgres() -> Iterator[Any]:
    """A PostgreSQL with wal_level=logical for all tests: use `postgres_server`."""
    from postgres.server import served  # which needs packages that some environments do without

    with served() as server:
        yield server


@pytest.fixture
def postgres_server(running_postgres: Any) -> Iterator[Any]:
    """A PostgreSQL without tables, publications or slots."""
    yield running_postgres
    running_postgres.clean()


@pytest.fixture
def session(postgres_server: Any) -> Iterator[Any]:
    """A session of PostgreSQL; each statement is a transaction."""
    with postgres_server.connect() as session:
        yield session
