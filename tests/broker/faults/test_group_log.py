"""A broker that stops anywhere between a commit of offsets and its answer forgets none, invents none (GRP-01)."""

from __future__ import annotations

import pytest

from eosfw.errors import EosfwError
from eosfw.ids import TopicPartition
from eosfw.protocols import ConsumerGroupMetadata
from eosfw_memory.client.backend import MemoryBackend
from eosfw_memory.cluster import EmbeddedCluster
from eosfw_memory.common.delayed_operation import DisconnectClientError
from eosfw_memory.faults import Refuse, Restart
from eosfw_memory.faults.points import after, before
from eosfw_memory.server.coordinators.groups.group_records import Committed
from eosfw_memory.server.coordinators.groups.offset_requests import OffsetCommitter
from pytest_eos.contracts.backends.harness import WAIT, BackendHarness, record

OFFSETS = [before("offsets"), after("offsets")]
MATERIALIZE = [before("materialize"), after("materialize")]
IN_A_COMMIT = [*OFFSETS, before("prepare"), after("prepare"), before("marker"), *MATERIALIZE, after("marker")]
DECIDED = IN_A_COMMIT[3:]
BEFORE, AFTER = 3, 9


@pytest.fixture(params=["memory", "fsync"])
def cluster(request, tmp_path, runtime):
    """A broker in memory, and one on a directory whose disk is waited for."""
    on_disk = {"log.dirs": str(tmp_path / "data"), "log.flush.interval.messages": "1"}
    cluster = EmbeddedCluster.start(on_disk if request.param == "fsync" else {}, runtime)
    yield cluster
    cluster.close()


@pytest.fixture
def backend(cluster, runtime):
    return MemoryBackend.connect({"bootstrap.servers": cluster.bootstrap_servers}, runtime)


class Copier:
    """Reads a partition, writes to another, commits records and offsets in one transaction."""

    def __init__(self, lab: BackendHarness) -> None:
        self.lab = lab
        self.topic = lab.topic()
        self.read = TopicPartition(self.topic, 0)
        self.group = ConsumerGroupMetadata(lab.name())

    def copy(self, producer, upto: int, outcome="commit") -> None:
        producer.begin_transaction()
        producer.send(record(self.topic, b"%d" % upto))
        producer.send_offsets({self.read: upto}, self.group, WAIT)
        end = producer.commit_transaction if outcome == "commit" else producer.abort_transaction
        end(WAIT)

    def seen(self) -> tuple[list[bytes], int | None]:
        """What readers see with the offset that counts, once nothing is open."""
        self.lab.producer("copier").close()  # ends what was left open
        return self.lab.values(self.topic), self.committed()

    def committed(self) -> int | None:
        return self.lab.admin.group_offsets(self.group.group_id, [self.read]).get(self.read)


@pytest.fixture
def copier(lab):
    return Copier(lab)


@pytest.mark.parametrize("outcome", ["commit", "abort"])
@pytest.mark.parametrize("point", IN_A_COMMIT)
def test_a_restart_at_any_point_leaves_offsets_and_records_together(lab, copier, faults, point, outcome):
    """GRP-01, KAFKA-15784: both from the transaction, or both from the one before it."""
    copier.copy(producer := lab.producer("copier"), BEFORE)
    restarted = faults.add(Restart(point))

    try:
        copier.copy(producer, AFTER, outcome)
        answered = True
    except EosfwError:
        answered = False
    restarted.await_fired(WAIT)

    then, now = ([b"3"], BEFORE), ([b"3", b"9"], AFTER)
    seen = copier.seen()
    if outcome == "abort":
        assert seen == then
    elif answered or point in DECIDED:
        assert seen == now
    else:
        assert seen == then


@pytest.mark.parametrize("point", [*OFFSETS, before("forget-group"), after("forget-group")])
def test_a_restart_during_a_plain_offset_commit_keeps_acknowledged_offsets(lab, copier, faults, cluster, point):
    """GRP-01: in the log and then known, or neither."""
    commit_alone(cluster, copier, BEFORE)
    restarted = faults.add(Restart(point, group_id=copier.group.group_id))

    if "forget" in point:
        cluster.broker.act(lambda: stopped_at(cluster, lambda: forget(cluster, copier)))
        kept = point == before("forget-group")
        wanted = BEFORE if kept else None
    else:
        cluster.broker.act(lambda: stopped_at(cluster, lambda: commit_alone(cluster, copier, AFTER)))
        wanted = BEFORE if point == before("offsets") else AFTER

    assert restarted.fired
    assert copier.committed() == wanted
    cluster.broker.restart()
    assert copier.committed() == wanted


def commit_alone(cluster, copier, offset):
    """Commit offsets as an OffsetCommit without a group member does."""
    broker = cluster.broker
    stated = {copier.read: Committed(offset, -1, "", broker.now_ms())}
    broker.groups.offsets.commit(copier.group.group_id, OffsetCommitter(), stated, broker.now_ms())


def forget(cluster, copier):
    broker = cluster.broker
    broker.groups.offsets.delete(copier.group.group_id, [copier.read], broker.now_ms())


def stopped_at(cluster, run):
    """Run a function during which the broker may stop."""
    with pytest.raises(DisconnectClientError):
        cluster.faults.stoppable(run)


@pytest.mark.parametrize("point", [before("group"), after("group")])
def test_a_restart_while_a_group_is_created_admits_its_first_member(cluster, faults, runtime, point):
    """GRP-02: who joins again is in a group of one, whether or not the first try was logged."""
    confluent = pytest.importorskip("confluent_kafka")
    cluster.broker.topics.create("read", 1, {})
    restarted = faults.add(Restart(point))
    settings = {"bootstrap.servers": cluster.bootstrap_servers, "group.id": "readers", "log_level": 0}
    consumer = confluent.Consumer({**settings, "auto.offset.reset": "earliest", "reconnect.backoff.ms": 10})
    consumer.subscribe(["read"])
    deadline = runtime.now() + WAIT
    while not consumer.assignment() and runtime.now() < deadline:
        consumer.poll(0.05)
    assert [each.topic for each in consumer.assignment()] == ["read"]
    assert restarted.fired
    consumer.close()


@pytest.mark.parametrize("point", [before("offsets"), before("materialize")])
def test_a_write_that_is_refused_is_tried_again_without_a_second_effect(lab, copier, faults, point):
    """GRP-01, COR-10: by the client, by the coordinator."""
    copier.copy(producer := lab.producer("copier"), BEFORE)
    refused = faults.add(Refuse(point, code="NOT_ENOUGH_REPLICAS"))
    copier.copy(producer, AFTER)
    assert copier.seen() == ([b"3", b"9"], AFTER)
    assert refused.fired
