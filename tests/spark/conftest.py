"""Offer one Spark session for all tests, topics with a known history."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

from .optional_jars import NEED_JARS, jars_exist, settings

KAFKA = [pytest.mark.kafka, pytest.mark.nightly]

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Without PySpark nothing in this folder can even be imported; `--eos-require=spark` is asked where it is installed.
collect_ignore_glob = ([] if jars_exist() else NEED_JARS) if find_spec("pyspark") else ["test_*.py"]


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
