"""Fence, find and end transactions by hand on the embedded broker, with every answer a coordinator may give."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from eosfw.concurrency import ThreadRuntime
from eosfw.errors import (
    ClusterAuthorizationError,
    ClusterUnavailableError,
    ConcurrentTransactionsError,
    EosfwError,
    FatalError,
    TransactionalIdAuthorizationError,
)
from eosfw.fence_producers_result import FenceProducersOptions
from eosfw.hanging_transactions import find_hanging
from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw.protocols import NewTopic
from eosfw_memory.client.admin.admin import MemoryAdmin
from eosfw_memory.client.backend import MemoryBackend
from eosfw_memory.cluster import EmbeddedCluster
from eosfw_memory.common.codes import Code, KafkaError
from eosfw_memory.server.coordinators.transaction_coordinator import TransactionCoordinator
from eosfw_memory.storage.records.codec import encode_batch
from pytest_eos.contracts.backends.harness import COMMITTED, UNCOMMITTED, WAIT, BackendHarness

RUNTIME = ThreadRuntime()
IN_TIME = FenceProducersOptions(WAIT)
STRANGER = ProducerIdAndEpoch(4242, 0)


@pytest.fixture
def cluster() -> Iterator[EmbeddedCluster]:
    cluster = EmbeddedCluster.start({}, RUNTIME)
    yield cluster
    cluster.close()


@pytest.fixture(params=["direct", "socket"])
def backend(cluster: EmbeddedCluster, request: pytest.FixtureRequest) -> Iterator[MemoryBackend]:
    message = {"bootstrap.servers": cluster.bootstrap_servers, "eosfw.transport": request.param}
    backend = MemoryBackend.connect(message, RUNTIME)
    yield backend
    backend.close()


@pytest.fixture
def admin(backend: MemoryBackend) -> MemoryAdmin:
    return backend.admin()


class Answers:
    """The coordinator's answers to InitProducerId: codes, once each, or one for ever."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.codes: dict[str, list[Code]] = {}
        self.ever: dict[str, Code] = {}
        one = TransactionCoordinator.initialise

        def initialise(coordinator: TransactionCoordinator, name: str, *rest: object) -> object:
            code = self._code(name)
            if code is not None:
                raise KafkaError(code)
            return one(coordinator, name, *rest)  # type: ignore[arg-type]

        monkeypatch.setattr(TransactionCoordinator, "initialise", initialise)

    def _code(self, name: str) -> Code | None:
        return self.codes[name].pop(0) if self.codes.get(name) else self.ever.get(name)


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Answers:
    return Answers(monkeypatch)


@pytest.mark.parametrize(
    "code",
    [
        Code.COORDINATOR_LOAD_IN_PROGRESS,
        Code.CONCURRENT_TRANSACTIONS,
        Code.NOT_COORDINATOR,
        Code.COORDINATOR_NOT_AVAILABLE,
        Code.REQUEST_TIMED_OUT,
    ],
)
def test_fencing_retries_transient_errors(admin: MemoryAdmin, answers: Answers, code: Code) -> None:
    """ADM-02: the caller gets only the final result."""
    answers.codes["a"] = [code] * 3

    result = admin.fence_producers(["a", "b"], IN_TIME)

    assert result.outcomes() == {"a": None, "b": None}
    assert answers.codes["a"] == []
    assert isinstance(result.producer_id("a").result(), int)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (Code.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, TransactionalIdAuthorizationError),
        (Code.CLUSTER_AUTHORIZATION_FAILED, ClusterAuthorizationError),
        (Code.UNKNOWN_SERVER_ERROR, FatalError),
    ],
)
def test_a_permanent_fencing_error_fails_only_its_id(
    admin: MemoryAdmin, answers: Answers, code: Code, expected: type[EosfwError]
) -> None:
    """ADM-02: at once, with the id's name."""
    answers.ever["a"] = code

    outcomes = admin.fence_producers(["a", "b"], IN_TIME).outcomes()

    assert type(outcomes["a"]) is expected
    assert "'a'" in str(outcomes["a"])
    assert outcomes["b"] is None


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (Code.CONCURRENT_TRANSACTIONS, ConcurrentTransactionsError),
        (Code.COORDINATOR_LOAD_IN_PROGRESS, ClusterUnavailableError),
        (Code.NOT_COORDINATOR, ClusterUnavailableError),
    ],
)
def test_a_fencing_timeout_reports_the_error_it_retried(
    admin: MemoryAdmin, answers: Answers, code: Code, expected: type[EosfwError]
) -> None:
    """ADM-02: by the option's timeout, not the client's."""
    answers.ever["a"] = code

    outcomes = admin.fence_producers(["a", "b"], FenceProducersOptions(1.0)).outcomes()

    assert type(outcomes["a"]) is expected
    assert code.name in str(outcomes["a"])
    assert outcomes["b"] is None


def hang(cluster: EmbeddedCluster, admin: MemoryAdmin, topic: str) -> TopicPartition:
    """Leave records of a transaction that no coordinator knows, as brokers before KIP-890 could be brought to."""
    admin.create_topics([NewTopic(topic)])
    partition = cluster.broker.topics.partition(topic, 0)
    assert partition is not None
    batch = encode_batch(None, [b"lost"], 1000, producer=STRANGER, base_sequence=0, transactional=True)
    partition.log.append(batch, 1000)
    return TopicPartition(topic, 0)


def test_a_hanging_transaction_is_found_and_ended(
    cluster: EmbeddedCluster, backend: MemoryBackend, admin: MemoryAdmin
) -> None:
    """COR-18, KIP-664: the last stable offset moves behind it, readers go on."""
    lab = BackendHarness(backend, RUNTIME)
    where = hang(cluster, admin, "orders")
    lab.write("orders", b"waiting")
    assert lab.end("orders", COMMITTED) == 0

    (found,) = find_hanging(admin, [where], RUNTIME.wall())
    assert (found.partition, found.start_offset, found.transactional_id) == (where, 0, None)
    admin.abort_transaction(found.partition, found.start_offset)

    assert lab.end("orders", COMMITTED) == lab.end("orders", UNCOMMITTED)
    assert lab.values("orders") == [b"waiting"]
    assert find_hanging(admin, [where], RUNTIME.wall()) == []


def test_a_blocking_producer_unknown_to_its_coordinator_is_named(cluster: EmbeddedCluster, admin: MemoryAdmin) -> None:
    """COR-18: by his producer id."""
    where = hang(cluster, admin, "orders")

    (found,) = admin.open_transactions([where])

    assert (found.producer, found.first_offset) == (STRANGER, 0)
    assert str(STRANGER.producer_id) in found.transactional_id


def test_a_client_may_be_used_while_it_fences(admin: MemoryAdmin, answers: Answers) -> None:
    """ADM-01: the result is waited for when it is needed."""
    answers.ever["a"] = Code.CONCURRENT_TRANSACTIONS

    result = admin.fence_producers(["a"], IN_TIME)
    admin.create_topics([NewTopic("beside")])
    assert admin.partitions(["beside"]) == {"beside": 1}
    assert not result.all().done()
    del answers.ever["a"]

    assert result.outcomes() == {"a": None}
