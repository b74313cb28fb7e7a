"""Offer one Spark session for all tests, topics with a known history."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

from eosfw.concurrency import Runtime, ThreadRuntime
from kip98.clients import EMBEDDED, ClientOnCluster
from pytest_eos.contracts.backends.harness import BackendHarness

from .optional_jars import NEED_JARS, jars_exist, settings

KAFKA = [pytest.mark.kafka, pytest.mark.nightly]

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from eosfw.protocols import Step
    from eosfw_spark.steps.engine import SparkStepEngine

# Without PySpark nothing in this folder can even be imported; `--eos-require=spark` is asked where it is installed.
collect_ignore_glob = (
    ([] if jars_exist() else NEED_JARS) if find_spec("pyspark") else ["test_*.py", "*/test_*.py", "formats"]
)


@dataclass(frozen=True, slots=True)
class Served:
    """A cluster to read from."""

    bootstrap_servers: str


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.spark)
            # PySpark 4.0 leaves the sockets of its results to the garbage collector, wherever a test happens to be.
            item.add_marker(pytest.mark.filterwarnings("ignore:Exception ignored in. <socket"))


@pytest.fixture(scope="session")
def java(unavailable: Callable[[str, str], NoReturn]) -> None:
    """Skip what needs Java where there is none."""
    from eosfw_spark.java import java_problem

    if problem := java_problem():
        unavailable("spark", problem)


@pytest.fixture(scope="session")
def spark(java: None) -> Iterator[SparkSession]:
    """Our Spark session, started by the first test that wants it."""
    from eosfw_spark import session

    running = session.start(cores=2, more=settings())
    yield running.spark
    running.close()


@pytest.fixture(scope="session")
def fresh() -> Callable[[str], str]:
    """Names that no other test uses."""
    numbers, run = itertools.count(), uuid.uuid4().hex[:8]
    return lambda stem: f"spark-{stem}-{run}-{next(numbers)}"


@pytest.fixture(scope="session", params=["embedded", pytest.param("real_kafka", marks=KAFKA)])
def cluster(request: pytest.FixtureRequest) -> Served:
    """The embedded broker; a real Kafka each night, since what readers see there is shown without Spark, too."""
    return Served(request.getfixturevalue(request.param))


@pytest.fixture
def history(cluster: Any, fresh: Callable[[str], str]) -> Iterator[Any]:
    """Writes topics of the cluster through plain librdkafka, so that only the reading side is ours."""
    from .histories import Histories

    written = Histories(cluster.bootstrap_servers, fresh)
    yield written
    written.close()


@pytest.fixture
def runtime() -> Runtime:
    return ThreadRuntime()


# Of `memory` the direct calls: its socket is tried where brokers restart.
EACH_CLIENT = [way for way in EMBEDDED if "socket" not in str(way.values[0])]


@pytest.fixture(params=[way for way in EACH_CLIENT if "kafka-python" not in str(way.values[0])])
def lab(request: pytest.FixtureRequest, embedded: str, runtime: Runtime) -> Iterator[BackendHarness]:
    """The embedded broker by two clients; a test whose steps show what a client does takes `EACH_CLIENT`."""
    way: ClientOnCluster = request.param
    harness = BackendHarness(way.connect(embedded, runtime), runtime)
    yield harness
    harness.close()


@pytest.fixture
def engine(spark: SparkSession, history: Any, tmp_path: Path) -> Iterator[SparkStepEngine]:
    """An engine in the session of all tests, which it therefore leaves running."""
    from eosfw.config.parts import PartChoice
    from eosfw_spark.steps.engine import SparkStepEngine

    reader = PartChoice("isolation.reader", "read_committed")
    properties = {"bootstrap.servers": history.servers}
    with closing(SparkStepEngine.start("confluent", properties, str(tmp_path), reader)) as started:
        yield started
    assert spark.range(1).count() == 1


@pytest.fixture
def finish(engine: SparkStepEngine, tmp_path: Path, runtime: Runtime) -> Callable[..., int]:
    """Run a streaming step over what is committed, and count its rows; it goes on from its checkpoint."""

    def run(step: Step, checkpoint: str | None = "checkpoint") -> int:
        place = None if checkpoint is None else str(tmp_path / checkpoint)
        query = engine.start_query(step, place, follow=False)
        try:
            while not query.ended():
                runtime.sleep(0.05)
            return query.progress().rows
        finally:
            query.stop()

    return run
