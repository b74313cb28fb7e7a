"""A real Kafka keeps what the embedded broker keeps: each batch once, whoever dies where (SPK-01, SPK-07)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from eosfw.concurrency import Runtime, ThreadRuntime
from eosfw_spark.sink.committer import CommitOutcome
from kip98.clients import WAYS, ClientOnCluster
from pytest_eos.contracts.backends.harness import BackendHarness

from .test_committer import COMMIT_STEPS, Query, all_values

pytestmark = [pytest.mark.kafka, pytest.mark.ci]


@pytest.fixture(params=[way for way in WAYS if way.cluster == "real_kafka"], ids=lambda way: way.backend)
def query(request: pytest.FixtureRequest, real_kafka: str) -> Iterator[Query]:
    way: ClientOnCluster = request.param
    runtime: Runtime = ThreadRuntime()
    lab = BackendHarness(way.connect(real_kafka, runtime), runtime)
    yield Query(lab)
    lab.close()


def test_batches_of_dying_drivers_are_published_once(query: Query) -> None:
    for number, step in enumerate(COMMIT_STEPS):
        query.killed_at(step, query.driver(), number)
        query.commit(query.driver(), number)

    assert query.published() == all_values(*range(len(COMMIT_STEPS)))


def test_two_living_drivers_publish_each_batch_once(query: Query) -> None:
    first, second = query.driver(), query.driver()

    outcomes = [query.commit(driver, number) for number in range(3) for driver in (first, second)]

    assert outcomes == [CommitOutcome.PUBLISHED, CommitOutcome.SKIPPED] * 3
    assert query.published() == all_values(0, 1, 2)
