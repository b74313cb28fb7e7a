"""Every error code of a fencing request is retried or fails only its id, the same with every client."""

from __future__ import annotations

from typing import Final

import pytest

from eosfw.concurrency import Runtime
from eosfw.error_table import FENCE, error_class
from eosfw.errors import ClusterUnavailableError, ConcurrentTransactionsError
from eosfw.fence_producers_result import FenceProducersOptions
from eosfw.kafka_codes import Code
from eosfw.protocols import Backend
from eosfw_memory.cluster import EmbeddedCluster
from eosfw_memory.faults import Fail
from kip98.clients import EMBEDDED, ClientOnCluster
from pytest_eos.contracts.backends.harness import WAIT, BackendHarness

ANSWERS: Final = 2
EVERY: Final = 1_000_000
SOON: Final = 0.3
IN_TIME: Final = FenceProducersOptions(WAIT)
PASSING: Final = (
    "COORDINATOR_LOAD_IN_PROGRESS",
    "CONCURRENT_TRANSACTIONS",
    "NOT_COORDINATOR",
    "COORDINATOR_NOT_AVAILABLE",
)
LASTING: Final = (
    "TRANSACTIONAL_ID_AUTHORIZATION_FAILED",
    "CLUSTER_AUTHORIZATION_FAILED",
    "INVALID_TRANSACTION_TIMEOUT",
    "UNKNOWN_SERVER_ERROR",
)
TRIED_AGAIN: Final = {("confluent", "UNKNOWN_SERVER_ERROR")}
"""What a library asks again by itself, and rightly: another try may pass."""


pytestmark = pytest.mark.parametrize("way", EMBEDDED, indirect=True)


@pytest.fixture
def backend(way: ClientOnCluster, module_cluster: EmbeddedCluster, runtime: Runtime) -> Backend:
    """A client of that broker."""
    return way.connect(module_cluster.bootstrap_servers, runtime)


@pytest.mark.parametrize("code", PASSING)
def test_fencing_retries_transient_errors_until_they_pass(
    lab: BackendHarness, module_cluster: EmbeddedCluster, code: str
) -> None:
    """ADM-02: the caller gets only the final result; the open transaction is aborted by then."""
    topic, victim, other = lab.topic(), lab.name(), lab.name()
    lab.open_transaction(topic, b"half", transactional_id=victim)
    fault = module_cluster.faults.add(Fail("InitProducerId", code=code, times=ANSWERS, transactional_id=victim))

    outcomes = lab.admin.fence_producers([victim, other], IN_TIME).outcomes()

    assert outcomes == {victim: None, other: None}
    assert len(fault.firings) == ANSWERS
    assert lab.values(topic) == []


@pytest.mark.parametrize("code", LASTING)
def test_a_permanent_fencing_error_fails_only_its_id_immediately(
    lab: BackendHarness, module_cluster: EmbeddedCluster, way: ClientOnCluster, code: str
) -> None:
    """ADM-02: with the error that says so, and the id's name."""
    lasts = (way.backend, code) not in TRIED_AGAIN
    victim, other = lab.name(), lab.name()
    fault = module_cluster.faults.add(
        Fail("InitProducerId", code=code, times=EVERY if lasts else ANSWERS, transactional_id=victim)
    )

    outcomes = lab.admin.fence_producers([victim, other], IN_TIME).outcomes()

    module_cluster.faults.remove(fault)
    assert outcomes[other] is None
    if not lasts:
        assert (outcomes[victim], len(fault.firings)) == (None, ANSWERS)
        return
    assert type(outcomes[victim]) is error_class(Code[code], FENCE)
    assert repr(victim) in str(outcomes[victim])
    assert len(fault.firings) == 1


@pytest.mark.parametrize("code", PASSING)
def test_a_transient_fencing_error_ends_by_the_timeout(
    lab: BackendHarness, module_cluster: EmbeddedCluster, code: str
) -> None:
    """ADM-02: by the option's timeout, not the client's, however long it would go on asking."""
    victim = lab.name()
    fault = module_cluster.faults.add(Fail("InitProducerId", code=code, times=EVERY, transactional_id=victim))

    reported = lab.admin.fence_producers([victim], FenceProducersOptions(SOON)).outcomes()[victim]

    module_cluster.faults.remove(fault)
    # Whoever hears nothing in so short a time cannot say what it waited for.
    late = ConcurrentTransactionsError if code == "CONCURRENT_TRANSACTIONS" else ClusterUnavailableError
    assert isinstance(reported, (late, ClusterUnavailableError))
    assert repr(victim) in str(reported)


def test_fencing_of_one_id_waits_for_no_other(lab: BackendHarness, module_cluster: EmbeddedCluster) -> None:
    """ADM-01: while the first is refused again and again, all others are fenced."""
    slow, *others = [lab.name() for _ in range(12)]
    fault = module_cluster.faults.add(
        Fail("InitProducerId", code="CONCURRENT_TRANSACTIONS", times=EVERY, transactional_id=slow)
    )

    result = lab.admin.fence_producers([slow, *others], IN_TIME)

    for other in others:
        result.fenced()[other].result()
    assert not result.fenced()[slow].done()
    module_cluster.faults.remove(fault)
    assert result.outcomes() == dict.fromkeys([slow, *others])
