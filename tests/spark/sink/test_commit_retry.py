"""Which failures of a commit are tried again, and for how long."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from eosfw import errors
from eosfw.concurrency import Runtime
from eosfw.errors import ClusterUnavailableError, ConfigError, EosfwError, ProducerFencedError
from eosfw.observe import TaskStep
from eosfw_memory.cluster import EmbeddedCluster
from eosfw_spark.sink import commit_retry
from eosfw_spark.sink.commit_retry import FENCINGS, GIVE_UP, CommitAttempts, may_try_again, too_slow
from eosfw_spark.sink.committer import CommitOutcome
from kip98.clients import ClientOnCluster
from ports import free_port
from pytest_eos.contracts.backends.harness import BackendHarness

from .test_committer import Query, all_values


@pytest.mark.parametrize(
    "passing", [errors.RetriableError, ClusterUnavailableError, errors.IndefiniteOutcomeError, errors.AbortableError]
)
def test_passing_failure_is_tried_again_until_the_deadline(passing: type[EosfwError]) -> None:
    assert may_try_again(passing("x"), CommitAttempts(10.0), 10.0 + GIVE_UP - 1)
    assert not may_try_again(passing("x"), CommitAttempts(10.0), 10.0 + GIVE_UP)


@pytest.mark.parametrize(
    "lasting",
    [
        errors.UnknownTopicOrPartitionError,
        errors.TopicAuthorizationError,
        errors.InvalidRecordError,
        errors.RecordTooLargeError,
        errors.TransactionalIdAuthorizationError,
        errors.InvalidTransactionTimeoutError,
        errors.DamagedDataError,
        ConfigError,
    ],
)
def test_lasting_failure_is_not_tried_again(lasting: type[EosfwError]) -> None:
    assert not may_try_again(lasting(), CommitAttempts(10.0), 10.0)


@pytest.mark.parametrize("lost", commit_retry.LOST_ID)
def test_lost_transactional_id_is_taken_back_a_few_times(lost: type[EosfwError]) -> None:
    attempts = CommitAttempts(0.0)
    for _ in range(FENCINGS):
        attempts = attempts.after(lost("x"))
        assert may_try_again(lost("x"), attempts, 0.0)

    assert not may_try_again(lost("x"), attempts.after(lost("x")), 0.0)


def test_lost_id_after_the_transaction_timeout_was_too_slow() -> None:
    assert too_slow(ProducerFencedError("x"), 60.0, 60.0)
    assert not too_slow(ProducerFencedError("x"), 59.0, 60.0)
    assert not too_slow(ClusterUnavailableError("x"), 61.0, 60.0)


SOCKETS = (
    ClientOnCluster("confluent", ""),
    ClientOnCluster("kafka-python", ""),
    ClientOnCluster("memory", "", {"eosfw.transport": "socket"}),
)


@pytest.fixture(params=SOCKETS, ids=lambda way: way.backend)
def restarted(request: pytest.FixtureRequest, runtime: Runtime, tmp_path: Path) -> Iterator[Query]:
    """A query whose broker is gone for a while once a batch's rows are sent."""
    properties = {"log.dirs": str(tmp_path), "listeners": f"PLAINTEXT://127.0.0.1:{free_port()}"}
    cluster = EmbeddedCluster.start(properties, runtime)
    address = cluster.bootstrap_servers
    lab = BackendHarness(request.param.hasty(2.0).connect(address, runtime), runtime)
    clusters = [cluster]

    def restart() -> None:
        clusters.append(EmbeddedCluster.start(properties, runtime))

    class Restarting(Query):
        def announce(self, step: TaskStep, /, **detail: object) -> None:
            super().announce(step, **detail)
            if step is TaskStep.COMMIT_BATCH and len(clusters) == 1:
                clusters[0].close()
                runtime.sleep(1.0)
                restart()

    yield Restarting(lab)
    lab.close()
    for each in clusters:
        each.close()


def test_batch_is_published_once_though_its_broker_restarts(restarted: Query) -> None:
    """SPK-05: the commit of the first batch is lost, or was not heard of."""
    restarted.timeout = 8.0
    driver = restarted.driver()

    outcomes = [restarted.commit(driver, number) for number in range(2)]

    assert outcomes[1] is CommitOutcome.PUBLISHED
    assert restarted.published() == all_values(0, 1)


def test_cluster_that_stays_away_is_reported_within_the_deadline(
    runtime: Runtime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = EmbeddedCluster.start({}, runtime)
    way = ClientOnCluster("memory", "").hasty(1.0)
    lab = BackendHarness(way.connect(cluster.bootstrap_servers, runtime), runtime)

    class Twice(Query):
        def announce(self, step: TaskStep, /, **detail: object) -> None:
            super().announce(step, **detail)
            if self.steps.count(TaskStep.FENCE_BATCH) == 2:
                monkeypatch.setattr(commit_retry, "GIVE_UP", 0.0)  # however long the first attempt took

    query = Twice(lab)
    query.api_timeout = 0.5
    cluster.close()

    with pytest.raises(ClusterUnavailableError):
        query.commit(query.driver(), 0)

    assert query.steps.count(TaskStep.FENCE_BATCH) == 2
    lab.close()
