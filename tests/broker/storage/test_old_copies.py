"""A data directory restored from an old copy while clients run: newer producers are fenced, consumers are reset."""

from __future__ import annotations

import errno
import os
import shutil
from contextlib import suppress
from types import SimpleNamespace as Request

import pytest

from eosfw.concurrency import ThreadRuntime
from eosfw.errors import EosfwError, FatalError, ProducerFencedError
from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw_memory.client.backend import MemoryBackend
from eosfw_memory.cluster import EmbeddedCluster
from eosfw_memory.common.codes import Code, KafkaError
from eosfw_memory.server.broker.broker import Broker, Context
from eosfw_memory.server.broker.introspection import open_transactions
from eosfw_memory.server.coordinators.decisions import fenced_with_new_producer_id, new_metadata, prepare_complete
from eosfw_memory.server.coordinators.transaction_state import PREPARED, TransactionState
from eosfw_memory.server.protocol.handlers.records import offset_for_leader_epoch
from eosfw_memory.server.protocol.handlers.transactions import init_producer_id
from eosfw_memory.storage.files.data_directory import DataDirectory
from eosfw_memory.storage.records.codec import decode_records
from eosfw_memory.storage.records.markers import result_of
from eosfw_memory.storage.records.transaction_result import TransactionResult
from ports import free_port
from pytest_eos.contracts.backends.harness import WAIT, BackendHarness, record

from ..brokers import started
from ..log.log_harness import NOW, plain
from .data_directory_harness import NODE, DataDirectoryHarness, refused_start
from .failing_system import FailingSystem

COPIES = pytest.mark.parametrize("how", ["copied", "moved back", "files put back"])


def put_back(root, copy, how):
    """Restore a directory as operators do it."""
    if how == "files put back":  # rsync: what looks the same is left alone
        for path in (path for path in copy.rglob("*") if path.is_file()):
            there = root / path.relative_to(copy)
            same = there.exists() and there.stat().st_mtime_ns == path.stat().st_mtime_ns
            if not (same and there.stat().st_size == path.stat().st_size):
                shutil.copy2(path, there)
    else:
        shutil.rmtree(root)
        shutil.copytree(copy, root) if how == "copied" else os.rename(shutil.copytree(copy, f"{copy}-2"), root)


class Machine:
    """A directory that is served, copied, put back."""

    def __init__(self, root, version: str = "2") -> None:
        self.root, self.copy = root / "data", root / "copy"
        self.version = version
        self.broker = self.started()

    def started(self) -> Broker:
        return started(self.root, {"transaction.version": self.version}, t=1)

    def save(self) -> None:
        """Make a copy of what is there now, between two runs."""
        self.broker.close()
        shutil.copytree(self.root, self.copy)
        self.broker = self.started()

    def restore(self, how: str) -> None:
        self.broker.close()
        put_back(self.root, self.copy, how)
        self.broker = self.started()

    def init(self, name: str = "mover") -> ProducerIdAndEpoch:
        return self.broker.coordinator.initialise(name, 60_000, None, self.broker.now_ms())

    def begin(self, holder, name: str = "mover") -> Code:
        try:
            where = [TopicPartition("t", 0)]
            self.broker.coordinator.add_partitions(name, holder, where, self.broker.now_ms())
        except KafkaError as refused:
            return refused.code
        return Code.NONE


@pytest.fixture(params=["1", "2"], ids=["version 1", "version 2"])
def machine(request, tmp_path):
    made = Machine(tmp_path, request.param)
    yield made
    made.broker.close()


@COPIES
@pytest.mark.parametrize("inits", [0, 3])
def test_a_restore_fences_producers_with_epochs_newer_than_the_copy(machine, how, inits):
    """Also an epoch that the old log would assign to another producer now."""
    first = machine.init()
    machine.save()
    held = [first, *(machine.init() for _ in range(inits))]

    machine.restore(how)
    next_holder = machine.init()

    assert [machine.begin(each) for each in held] == [Code.INVALID_PRODUCER_ID_MAPPING] * len(held)
    assert next_holder.producer_id not in {each.producer_id for each in held}
    assert machine.begin(next_holder) is Code.NONE


def test_reinitialising_with_an_old_epoch_is_fenced(machine):
    """KIP-360: InitProducerId with ids from before."""
    holder = machine.init()
    machine.save()
    machine.restore("copied")
    request = Request(
        transactional_id="mover",
        transaction_timeout=Request(total_seconds=lambda: 60.0),
        producer_id=holder.producer_id,
        producer_epoch=holder.epoch,
    )
    answer = machine.broker.serve(init_producer_id.handle, request, Context(5))
    assert answer["error_code"] is Code.PRODUCER_FENCED


@pytest.mark.parametrize("state", ["ongoing", "decided"])
def test_a_restored_open_transaction_is_completed_and_its_producer_fenced(machine, state):
    """COR-14: open transactions are aborted, decided ones are completed."""
    holder = machine.init()
    assert machine.begin(holder) is Code.NONE
    if state == "decided":
        machine.broker.coordinator.end("mover", holder, TransactionResult.COMMIT, machine.broker.now_ms())
    machine.broker.storage.release()
    shutil.copytree(machine.root, machine.copy)
    machine.broker = machine.started()
    machine.restore("copied")
    known = machine.broker.coordinator.describe("mover")
    [marker] = [decode_records(batch) for batch in machine.broker.topics.partition("t", 0).log.batches()]
    assert result_of(marker.keys[0]) is (TransactionResult.ABORT if state == "ongoing" else TransactionResult.COMMIT)
    assert known.state in (TransactionState.COMPLETE_ABORT, TransactionState.EMPTY)
    assert known.producer_id != holder.producer_id
    assert machine.begin(holder) is Code.INVALID_PRODUCER_ID_MAPPING
    assert open_transactions(machine.broker) == []


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("outcome", TransactionResult)
def test_a_decided_transaction_keeps_its_outcome_when_its_id_is_fenced(version, outcome):
    """COR-09: its markers still carry the old producer id; the next producer gets a new one."""
    prepared = PREPARED[outcome]
    known = new_metadata("t", 7, 60_000)._replace(state=prepared, epoch=3, client_version=version)
    after = fenced_with_new_producer_id(known, 9, NOW, version)
    assert (after.state, after.producer) == (prepared, known.producer)
    assert prepare_complete(after, NOW).producer == ProducerIdAndEpoch(9, 0)


@COPIES
def test_no_producer_id_is_assigned_twice(machine, how):
    """Two producers under one id would be taken for repeating each other."""
    machine.save()
    given = {machine.broker.coordinator.fresh_producer_id() for _ in range(1500)}
    machine.restore(how)
    assert given.isdisjoint(machine.broker.coordinator.fresh_producer_id() for _ in range(1500))


@COPIES
def test_a_consumer_of_lost_records_gets_the_end_of_its_epoch(machine, how):
    """KIP-320: its epoch is an old one now, and ends before its position."""
    log = machine.broker.topics.partition("t", 0).log
    log.append(plain(b"kept"), NOW)
    machine.save()
    for _ in range(3):
        log = machine.broker.topics.partition("t", 0).log
        log.append(plain(b"lost"), NOW)
        believed = log.leader_epoch
        machine.broker.close()
        machine.broker = machine.started()

    machine.restore(how)

    log = machine.broker.topics.partition("t", 0).log
    assert log.leader_epoch > believed + 2
    part = Request(partition=0, current_leader_epoch=log.leader_epoch, leader_epoch=believed)
    topics = Request(topics=[Request(topic="t", partitions=[part])])
    answer = machine.broker.serve(offset_for_leader_epoch.handle, topics, Context(4))
    assert answer["topics"][0]["partitions"][0]["end_offset"] == 1


def test_fenced_ids_are_logged_once(machine, caplog):
    """A second start on the restored directory is an ordinary one."""
    machine.init("mover")
    machine.save()
    caplog.clear()
    machine.restore("copied")
    assert "was restored from a copy, or moved" in caplog.text
    assert "transactional id 'mover': whoever holds it was fenced" in caplog.text
    next_holder = machine.init()
    caplog.clear()
    machine.broker.close()
    machine.broker = machine.started()
    assert caplog.text == ""
    assert machine.begin(next_holder) is Code.NONE


def test_an_interrupted_start_leaves_remaining_fencing_to_the_next_one(tmp_path):
    """A forgotten producer could keep writing in an epoch that another producer gets."""
    machine = Machine(tmp_path)
    holder = machine.init()
    machine.save()
    machine.broker.close()
    put_back(machine.root, machine.copy, "copied")
    DataDirectory.open(machine.root, waits=False, node_id=1).release()
    machine.broker = machine.started()
    assert machine.begin(holder) is Code.INVALID_PRODUCER_ID_MAPPING
    machine.broker.close()


def test_a_crash_anywhere_in_a_start_does_not_make_it_look_like_a_copy(tmp_path):
    """The lock file is touched before the touch can be on record."""
    for at in range(1, 20):
        with suppress(EosfwError):
            failing = FailingSystem(errno.EIO, at_sync=at)
            DataDirectory.open(tmp_path, waits=True, node_id=NODE, system=failing).release()
        storage = DataDirectory.open(tmp_path, waits=True, node_id=NODE)
        assert not storage.restored
        storage.release()


def test_ordinary_restarts_fence_no_producer(machine):
    """A directory that stays where it is was not restored, whether its broker was stopped or killed."""
    holder = machine.init()
    for end in ("stop", "kill", "kill", "stop"):
        machine.broker.close() if end == "stop" else machine.broker.storage.release()
        machine.broker = machine.started()
    assert machine.begin(holder) is Code.NONE
    assert machine.broker.topics.partition("t", 0).log.leader_epoch == 8


def test_logs_older_or_newer_than_their_metadata_files_are_refused(tmp_path):
    """Half a restore; exit code 4, everything as it was."""
    root, copy = tmp_path / "data", tmp_path / "copy"
    house = DataDirectoryHarness(root)
    house.log.append(plain(b"a"), NOW)
    house.stop()
    shutil.copytree(root, copy)
    house = DataDirectoryHarness(root)
    house.log.append(plain(b"b"), NOW)
    house.stop()
    for name in ("incarnation", "topics.json"):
        shutil.copy2(copy / name, root / name)
    for path in root.rglob("*.index"):
        path.unlink()
    with refused_start(root, "leader epoch 2 "):
        DataDirectoryHarness(root)


def test_a_producer_open_across_a_restore_is_fenced_by_its_next_write(tmp_path):
    """With a client: the old producer cannot commit an unknown transaction; its successor can commit."""
    listeners = f"PLAINTEXT://127.0.0.1:{free_port()}"
    runtime, properties = ThreadRuntime(), {"log.dirs": str(tmp_path / "data"), "listeners": listeners}
    cluster = EmbeddedCluster.start(properties, runtime)
    lab = BackendHarness(connected(cluster, runtime), runtime)
    topic, zombie = lab.topic(), lab.producer("mover")
    write(zombie, topic, b"kept")
    lab.values(topic)
    cluster.close()
    shutil.copytree(tmp_path / "data", tmp_path / "copy")
    cluster = EmbeddedCluster.start(properties, runtime)
    write(zombie, topic, b"lost")
    cluster.close()
    put_back(tmp_path / "data", tmp_path / "copy", "copied")
    cluster = EmbeddedCluster.start(properties, runtime)

    with pytest.raises((FatalError, ProducerFencedError)):
        write(zombie, topic, b"never")
    write(lab.producer("mover"), topic, b"new")

    assert lab.values(topic) == [b"kept", b"new"]
    lab.close()
    cluster.close()


def connected(cluster, runtime):
    return MemoryBackend.connect({"bootstrap.servers": cluster.bootstrap_servers, "eosfw.transport": "socket"}, runtime)


def write(producer, topic, value):
    producer.begin_transaction()
    try:
        producer.send(record(topic, value))
        producer.commit_transaction(WAIT)
    except FatalError:
        raise
    except EosfwError:
        producer.abort_transaction(WAIT)
        raise
