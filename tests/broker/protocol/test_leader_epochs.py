"""A restart raises leader and coordinator epochs as on a real Kafka (KIP-101, KIP-320, COR-10)."""

from __future__ import annotations

import pytest

from conformance import broker_state
from conformance.calls import Caller
from eosfw.concurrency import ThreadRuntime
from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw.protocols import IsolationLevel
from eosfw_memory.client.transport.apis import Fields
from eosfw_memory.cluster import EmbeddedCluster
from eosfw_memory.common.codes import Code
from ports import free_port
from real_kafka import RealKafka

T0 = TopicPartition("epochs", 0)
METADATA, EPOCH_END = 3, 23


class Embedded:
    """A broker on a directory, which starts again there, or in place by a fault."""

    def __init__(self, root, how) -> None:
        self.properties = {"log.dirs": str(root), "listeners": f"PLAINTEXT://127.0.0.1:{free_port()}"}
        self.how = how
        self._start()

    def _start(self) -> None:
        self.cluster = EmbeddedCluster.start(self.properties, ThreadRuntime())
        self.bootstrap_servers = self.cluster.bootstrap_servers

    def restart(self) -> None:
        broker = self.cluster.broker
        if self.how == "in place":
            broker.restart()
            return
        if self.how == "killed":
            broker.close = broker.storage.release  # what a clean stop would save is not there
        self.cluster.close()
        self._start()

    def stop(self) -> None:
        self.cluster.close()


WAYS = ["in place", "stopped", "killed"]


@pytest.fixture(params=[*WAYS, pytest.param("kafka", marks=pytest.mark.kafka)])
def node(request, tmp_path):
    """A cluster of this test alone, which it may restart."""
    kafka = request.param == "kafka"
    made = RealKafka.start(tmp_path / "kafka") if kafka else Embedded(tmp_path / "data", request.param)
    yield made
    made.stop()


def committed(caller):
    """One transaction of the next holder, whose marker is written; give what its holder goes on with."""
    begun = caller.init("mover")
    assert begun.code is Code.NONE
    assert caller.produce("mover", begun.producer, T0, 0).code is Code.NONE
    reported = caller.end("mover", begun.producer)
    assert reported.code is Code.NONE
    caller.settled("mover")
    return reported.producer


def led(caller):
    """Metadata."""
    wanted = Fields(name=T0.topic, topic_id=None)
    [topic] = caller.ask(METADATA, 12, topics=[wanted], allow_auto_topic_creation=False)["topics"]
    return topic["partitions"][0]["leader_epoch"]


def listed(caller, timestamp, believed=-1):
    """ListOffsets: code, offset, leader epoch."""
    found = broker_state.listed_offset(caller, T0, IsolationLevel.READ_UNCOMMITTED, timestamp, believed)
    return Code(int(found["error_code"])), found["offset"], found["leader_epoch"]


def epoch_end(caller, epoch, believed=-1):
    """OffsetForLeaderEpoch: code, leader epoch, end offset."""
    wanted = Fields(partition=0, current_leader_epoch=believed, leader_epoch=epoch)
    answer = caller.ask(EPOCH_END, 4, replica_id=-1, topics=[Fields(topic=T0.topic, partitions=[wanted])])
    [found] = answer["topics"][0]["partitions"]
    return Code(int(found["error_code"])), found["leader_epoch"], found["end_offset"]


def fetched(caller, believed):
    """Fetch: its code."""
    found = broker_state.fetched(caller, T0, 0, IsolationLevel.READ_UNCOMMITTED, believed)
    return Code(int(found["error_code"]))


def test_a_restart_raises_leader_epochs_and_remembers_earlier_ones(node):
    """KIP-101, KIP-320, COR-10: by two; then each kind of request, each relation of epochs, a marker that was late."""
    caller = Caller(node.bootstrap_servers)
    caller.create(T0.topic, 1)
    caller.warm_up("mover", T0)
    assert led(caller) == 0
    committed(caller)
    end = listed(caller, broker_state.LATEST)[1]
    caller.close()

    node.restart()

    caller = Caller(node.bootstrap_servers)
    caller.wait_until_led(T0.topic, 1)
    caller.warm_up("mover", T0)
    assert led(caller) == 2
    assert listed(caller, broker_state.EARLIEST) == (Code.NONE, 0, 0)
    assert listed(caller, broker_state.LATEST) == (Code.NONE, end, 2)
    assert listed(caller, 2**62) == (Code.NONE, -1, -1)
    ends = [epoch_end(caller, epoch) for epoch in range(-1, 4)]
    undefined = (Code.NONE, -1, -1)
    assert ends == [undefined, (Code.NONE, 0, end), (Code.NONE, 0, end), (Code.NONE, 2, end), undefined]
    fenced, unknown = Code.FENCED_LEADER_EPOCH, Code.UNKNOWN_LEADER_EPOCH
    wanted = {-1: Code.NONE, 0: fenced, 1: fenced, 2: Code.NONE, 3: unknown}
    assert {believed: fetched(caller, believed) for believed in wanted} == wanted
    assert {believed: listed(caller, broker_state.LATEST, believed)[0] for believed in wanted} == wanted
    assert {believed: epoch_end(caller, 0, believed)[0] for believed in wanted} == wanted

    holder = committed(caller)
    assert [each["coordinator_epoch"] for each in caller.writers(T0)] == [2]
    assert caller.produce("mover", holder, T0, 0).code is Code.NONE
    assert caller.mark(holder, T0, 0).code is Code.TRANSACTION_COORDINATOR_FENCED
    assert caller.end("mover", holder).code is Code.NONE
    caller.close()


@pytest.mark.parametrize("way", ["stopped", "killed"])
def test_the_next_coordinator_completes_a_prepared_transaction_in_its_epoch(tmp_path, way):
    """COR-10, COR-14: the markers that the old one still owed carry the epoch of the new one."""
    node = Embedded(tmp_path, way)
    caller, broker = Caller(node.bootstrap_servers), node.cluster.broker
    caller.create(T0.topic, 1)
    holder = caller.init("mover").producer
    assert caller.produce("mover", holder, T0, 0).code is Code.NONE
    broker.coordinator.markers.complete_all = lambda _: None  # it dies before it writes one
    assert caller.end("mover", holder).code is Code.NONE
    caller.close()

    node.restart()

    caller = Caller(node.bootstrap_servers)
    [writer] = caller.writers(T0)
    assert (writer["coordinator_epoch"], writer["current_txn_start_offset"]) == (2, -1)
    assert caller.mark(holder, T0, 0).code is Code.INVALID_PRODUCER_EPOCH
    after = ProducerIdAndEpoch(writer["producer_id"], writer["producer_epoch"])
    assert caller.mark(after, T0, 0).code is Code.TRANSACTION_COORDINATOR_FENCED
    assert caller.mark(after, T0, 2).code is Code.NONE
    caller.close()
    node.stop()
