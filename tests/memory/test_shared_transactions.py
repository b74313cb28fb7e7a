"""Several processes write in one transaction: what the network, the clock or a broker's restart does to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from tests.memory.conftest import Reached

from broker.faults.giving_up import give_up
from eosfw.concurrency import Runtime
from eosfw.errors import EosfwError, FatalError, UnsupportedError
from eosfw.ids import TopicPartition
from eosfw.protocols import AcknowledgedWrite, Backend
from eosfw.records import ProducerBatch
from eosfw_memory.client.shared.late_write_check import VERIFICATION
from eosfw_memory.cluster import EmbeddedCluster
from eosfw_memory.faults import Delay, Refuse, Repeat
from eosfw_memory.server.coordinators.transaction_log import TransactionStateTopic
from eosfw_memory.server.coordinators.transaction_metadata import LAST_CLIENT_EPOCH, TransactionMetadata
from pytest_eos.contracts.backends.harness import UNCOMMITTED, WAIT, BackendHarness
from pytest_eos.contracts.backends.shared_transactions import Shared, SharedTransactionContract
from real_kafka import RealKafka
from restartable import SOON, Broker, Embedded

VERSIONS = ("1", "2")
NO_VERIFICATION = {"transaction.version": "1", VERIFICATION: "false"}


@pytest.mark.kafka
class TestVersion1OnKafka(SharedTransactionContract):
    """Kafka with a client of version 1, where a late write is refused by the coordinator's verification alone."""

    @pytest.fixture
    def backend(self, real_kafka: str, runtime: Runtime) -> Backend:
        reached = Reached("kafka", real_kafka, "auto")
        return reached.backend(runtime, **{"eosfw.transaction.version": "1"})


@pytest.fixture(params=VERSIONS)
def version(request: pytest.FixtureRequest) -> str:
    """Each version of transactions."""
    return str(request.param)


@pytest.fixture
def cluster(version: str, runtime: Runtime) -> Iterator[EmbeddedCluster]:
    """A broker of this test alone, which has settled on the version."""
    cluster = EmbeddedCluster.start({"transaction.version": version}, runtime)
    yield cluster
    cluster.close()


@pytest.fixture
def lab(cluster: EmbeddedCluster, runtime: Runtime) -> Iterator[BackendHarness]:
    """A harness on that broker, over a socket as between machines."""
    lab = harness(cluster.bootstrap_servers, runtime)
    yield lab
    lab.close()


def harness(servers: str, runtime: Runtime) -> BackendHarness:
    """A harness whose clients use a socket."""
    return BackendHarness(Reached("embedded", servers, "socket").backend(runtime), runtime)


def shared_by(lab: BackendHarness, writers: int = 2) -> Shared:
    """A transaction that is begun and shared."""
    return Shared(lab, lab.topic(partitions=writers), lab.name(), writers).begin()


# --- the network


@pytest.mark.parametrize("following", [False, True], ids=["nothing follows", "the next is open"])
@pytest.mark.parametrize("end", ["commit", "abort"])
def test_a_request_that_the_network_holds_until_after_the_end_is_refused(
    lab: BackendHarness, cluster: EmbeddedCluster, end: str, *, following: bool
) -> None:
    """SHR-05, KIP-890: its sender is gone, as a lost executor is, and another request of it was served before."""
    shared = shared_by(lab)
    shared.send(0, b"early")
    shared.writing[0].flush(WAIT)
    writes = [_report_of(shared, 0), shared.writing[1].finish(WAIT)]
    held = cluster.faults.add(Delay("Produce"))
    shared.send(0, b"late")
    give_up(lab, shared.writing[0], held, lambda: shared.writing[0].finish(WAIT))
    shared.driver.commit(writes, WAIT) if end == "commit" else shared.driver.abort(WAIT)
    lab.values(shared.topic)
    after = Shared(lab, shared.topic, shared.transactional_id).begin() if following else None
    before = lab.end(shared.topic, UNCOMMITTED)

    held.release()

    assert lab.end(shared.topic, UNCOMMITTED) == before
    if after is not None:
        after.send(0, b"next")
        after.driver.commit(after.finish(), WAIT)
    kept = [b"early"] * (end == "commit") + [b"next"] * following
    assert lab.values(shared.topic) == kept


def test_a_request_that_the_network_delivers_twice_is_appended_once(
    lab: BackendHarness, cluster: EmbeddedCluster
) -> None:
    """SHR-02, PRD-04: so a copy that comes before the end changes nothing, and one after it is refused."""
    shared = shared_by(lab, writers=1)
    cluster.faults.add(Repeat("Produce"))
    shared.send(0, b"once")

    shared.driver.commit(shared.finish(), WAIT)

    assert lab.values(shared.topic) == [b"once"]


# --- between the decision and its markers


@pytest.fixture
def late_marker(cluster: EmbeddedCluster) -> Callable[[Shared], None]:
    """Have the marker of a transaction's first partition wait, as for a leader that is unavailable."""

    def hold(shared: Shared) -> None:
        cluster.faults.add(Refuse("before-marker", topic=shared.topic))

    return hold


def test_a_copy_that_comes_before_the_marker_is_not_appended(
    lab: BackendHarness, late_marker: Callable[[Shared], None]
) -> None:
    """SHR-02: there the broker asks nobody, since the transaction is open; the sequence numbers tell the copy."""
    shared = shared_by(lab)
    copy = lab.backend.attach(shared.handles[0])
    shared.send(0, b"once")
    writes = shared.finish()
    late_marker(shared)

    shared.driver.commit(writes, WAIT)
    copy.send_batch(ProducerBatch(shared.topic, [b"once"], partition=0))
    with suppress(EosfwError):
        copy.finish(WAIT)

    assert lab.values(shared.topic) == [b"once"]


@pytest.mark.parametrize("end", ["commit", "abort"])
def test_only_reports_keep_a_new_record_from_coming_before_the_marker(
    lab: BackendHarness, late_marker: Callable[[Shared], None], end: str
) -> None:
    """SHR-02: why a commit waits for the report of every writer. An abort need not: its marker covers the record."""
    shared = shared_by(lab)
    shared.send(0, b"reported")
    shared.writing[0].flush(WAIT)
    writes = [_report_of(shared, 0), shared.writing[1].finish(WAIT)]
    late_marker(shared)

    shared.driver.commit(writes, WAIT) if end == "commit" else shared.driver.abort(WAIT)
    shared.send(0, b"after a false report")
    shared.writing[0].finish(WAIT)

    assert lab.values(shared.topic) == ([b"reported", b"after a false report"] if end == "commit" else [])


# --- the clock


def test_writers_of_a_transaction_that_timed_out_are_refused(lab: BackendHarness, cluster: EmbeddedCluster) -> None:
    """SHR-06: while they still write; its driver cannot commit either."""
    shared = shared_by(lab)
    shared.send(0, b"early")
    shared.writing[0].flush(WAIT)

    cluster.broker.jump(3600)
    cluster.broker.run_due_tasks()

    for writer in range(2):
        shared.send(writer, b"late")
        with pytest.raises(EosfwError):
            shared.writing[writer].finish(WAIT)
    with pytest.raises(FatalError):
        shared.driver.commit([_report_of(shared, 0), _report_of(shared, 1)], WAIT)
    assert lab.values(shared.topic) == []


# --- the epoch


def test_the_last_epoch_of_a_producer_id_can_be_shared(lab: BackendHarness, cluster: EmbeddedCluster) -> None:
    """SHR-04: the transaction that follows has another producer id, and refuses what comes late from this one."""
    topic, name = lab.topic(partitions=2), lab.name()
    _bring_near_the_last_epoch(cluster, name)
    first = Shared(lab, topic, name).begin()
    first.send(0, b"a")
    first.send(1, b"late")
    first.driver.commit([first.writing[0].finish(WAIT), _report_of(first, 1)], WAIT)
    second = Shared(lab, topic, name).begin()
    second.send(0, b"b")

    with pytest.raises(EosfwError):
        first.writing[1].finish(WAIT)
    second.driver.commit(second.finish(), WAIT)

    assert lab.values(topic) == [b"a", b"b"]
    assert first.handles[0].producer.epoch == LAST_CLIENT_EPOCH
    assert second.handles[0].producer.producer_id != first.handles[0].producer.producer_id


def _bring_near_the_last_epoch(cluster: EmbeddedCluster, name: str) -> None:
    """Write into the transaction log what 32,766 initialisations would, and have it read again."""
    broker = cluster.broker
    known = TransactionMetadata(name, broker.coordinator.fresh_producer_id(), LAST_CLIENT_EPOCH - 1, 60_000)
    TransactionStateTopic(broker.transaction_log).append(name, known._replace(updated_ms=broker.now_ms()), 0)
    broker.coordinator.load()


# --- a restart


@pytest.fixture(params=["embedded", pytest.param("kafka", marks=[pytest.mark.kafka, pytest.mark.nightly])])
def restarted(
    request: pytest.FixtureRequest,
    version: str,
    tmp_path: Path,
    runtime: Runtime,
) -> Iterator[Broker]:
    """Each broker in turn; a Kafka of its own each night only."""
    if request.param == "embedded":
        broker: Broker = Embedded(tmp_path, runtime, {"transaction.version": version})
    else:
        broker = RealKafka.start(tmp_path / "kafka", SOON, features={"transaction.version": int(version)})
    yield broker
    broker.stop()


def test_writers_and_driver_continue_after_a_restart_of_the_broker(restarted: Broker, runtime: Runtime) -> None:
    """SHR-01: one has written, one has not; their sequence numbers go on. What comes after the end is refused still."""
    lab = harness(restarted.bootstrap_servers, runtime)
    shared = shared_by(lab)
    shared.send(0, b"a")
    shared.writing[0].flush(WAIT)

    restarted.restart()
    shared.send(0, b"b")
    shared.send(1, b"c")
    late = shared.writing[1]
    late.flush(WAIT)
    shared.driver.commit([shared.writing[0].finish(WAIT), _report_of(shared, 1)], WAIT)
    restarted.restart()
    assert lab.values(shared.topic) == [b"a", b"b", b"c"]
    shared.send(1, b"late")

    with pytest.raises(EosfwError):
        late.finish(WAIT)
    assert lab.values(shared.topic) == [b"a", b"b", b"c"]
    lab.close()


# --- brokers that would let a late write in


@pytest.fixture
def lax(runtime: Runtime) -> Iterator[BackendHarness]:
    """A broker that verifies nothing, as Kafka before 3.6."""
    cluster = EmbeddedCluster.start(NO_VERIFICATION, runtime)
    lab = harness(cluster.bootstrap_servers, runtime)
    yield lab
    lab.close()
    cluster.close()


def test_a_cluster_that_would_append_a_late_write_is_refused_before_anybody_is_fenced(lax: BackendHarness) -> None:
    """SHR-07: the sentence names the broker and the property."""
    name = lax.name()
    holder = lax.open_transaction(lax.topic(), b"1", transactional_id=name)
    driver = lax.backend.shared_transaction(name)

    with pytest.raises(UnsupportedError, match=rf"broker 1 would append .* {VERIFICATION} is not true there"):
        driver.begin(WAIT)

    holder.commit_transaction(WAIT)


def test_without_verification_a_late_write_would_become_visible(
    lax: BackendHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SHR-07: what the refusal is for. The commit of the next transaction covers the row of an aborted one."""
    monkeypatch.setattr("eosfw_memory.client.shared.late_write_check.LateWriteCheck.require_refusal", lambda *_: None)
    shared = shared_by(lax)
    shared.send(0, b"late")
    shared.driver.abort(WAIT)
    shared.writing[0].finish(WAIT)
    following = Shared(lax, shared.topic, shared.transactional_id).begin()
    following.send(0, b"next")
    following.driver.commit(following.finish(), WAIT)

    assert lax.values(shared.topic) == [b"late", b"next"]


def test_a_second_writer_with_the_same_handle_would_be_taken_for_a_repetition(lab: BackendHarness) -> None:
    """SHR-03: why a handle is attached once: other rows under the same numbers are acknowledged and dropped."""
    shared = shared_by(lab, writers=1)
    second = lab.backend.attach(shared.handles[0])
    shared.send(0, b"of the first")
    shared.writing[0].flush(WAIT)
    second.send_batch(ProducerBatch(shared.topic, [b"of the second"], partition=0))

    shared.driver.commit([second.finish(WAIT)], WAIT)

    assert lab.values(shared.topic) == [b"of the first"]


# --- helpers


def _report_of(shared: Shared, writer: int) -> AcknowledgedWrite:
    """What a writer would report that wrote one record."""
    return AcknowledgedWrite(writer, shared.handles[writer].producer, {TopicPartition(shared.topic, writer): 1})
