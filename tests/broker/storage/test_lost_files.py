"""Missing or replaced files of a data directory are reported with a remedy."""

from __future__ import annotations

import os
import shutil

import pytest

from eosfw.concurrency import ThreadRuntime
from eosfw.errors import ConfigError, DamagedDataError
from eosfw.ids import TopicPartition
from eosfw_memory.cluster import EmbeddedCluster
from eosfw_memory.server.coordinators.groups.group_records import Committed
from eosfw_memory.server.coordinators.groups.offset_requests import OffsetCommitter
from eosfw_memory.storage.files.data_directory import DataDirectory
from eosfw_memory.storage.files.producer_ids import next_producer_id
from eosfw_memory.storage.files.topic_storage import FIRST_PRODUCER_ID
from eosfw_memory.storage.records.batch import HEADER
from eosfw_memory.storage.records.codec import encode_batch

from ..log.log_harness import NOW, Writer, patched
from .data_directory_harness import NODE, TOPIC, DataDirectoryHarness, data_file, files, flip, refused_start

FEW = {"transaction.state.log.num.partitions": "1", "offsets.topic.num.partitions": "1", "listeners": ""}
ONE = TopicPartition(TOPIC, 0)


def started(root):
    return EmbeddedCluster.start({"log.dirs": str(root), **FEW}, ThreadRuntime())


def lived(root):
    """A directory that knows a transactional id, its producer id, an offset of a group; stopped cleanly."""
    cluster = started(root)
    broker = cluster.broker
    broker.topics.create(TOPIC, 1, {})
    producer = broker.coordinator.initialise("id", 60_000, None, broker.now_ms())
    batch = encode_batch(None, [b"v"], NOW, producer=producer, base_sequence=0)
    broker.topics.partition(*ONE).log.append(batch, NOW)
    broker.groups.offsets.commit("group", OffsetCommitter(), {ONE: Committed(1, -1, "", 0)}, broker.now_ms())
    cluster.close()
    return producer


def refusal(root) -> str:
    """How a start is refused, with exit code 4 and nothing changed."""
    with refused_start(root) as why:
        started(root)
    return str(why.value)


def test_producer_ids_are_not_reused_when_their_file_is_missing(tmp_path):
    """A new idempotent producer would get id 1000, its first record be taken for a repetition and dropped."""
    producer = lived(tmp_path)
    assert producer.producer_id == FIRST_PRODUCER_ID
    (tmp_path / "producer-ids").unlink()
    message = refusal(tmp_path)
    assert f"{tmp_path}/producer-ids: is missing" in message
    assert "restore the file from a copy, or write into it a number above" in message
    assert message.endswith(f"the logs know ids up to {FIRST_PRODUCER_ID}")

    (tmp_path / "producer-ids").write_text(str(FIRST_PRODUCER_ID + 1))
    cluster = started(tmp_path)
    assert cluster.broker.coordinator.fresh_producer_id() > FIRST_PRODUCER_ID
    cluster.close()


def test_a_directory_without_producer_ids_still_has_the_producer_id_file(tmp_path):
    """Otherwise a lost file would look like one that was never written."""
    DataDirectoryHarness(tmp_path).stop()
    assert next_producer_id(tmp_path / "producer-ids") == FIRST_PRODUCER_ID


def test_a_missing_topic_list_advises_to_restore_it_and_keep_data(tmp_path):
    """The advice was to move the data away."""
    lived(tmp_path)
    (tmp_path / "topics.json").unlink()
    message = refusal(tmp_path)
    assert message.startswith(
        f"{tmp_path}/topics.json: is missing, though 3 folders hold records, __consumer_offsets-0 the"
    )
    assert message.endswith("restore the file from a copy, leave the folders where they are")
    assert len(message.splitlines()) == 1


def test_a_folder_of_an_unlisted_topic_advises_to_restore_the_list(tmp_path):
    """So the first advice is to restore the list."""
    lived(tmp_path)
    shutil.copytree(tmp_path / f"{TOPIC}-0", tmp_path / "other-0")
    assert "other-0: belongs to no topic that topics.json and topics.journal list: restore them" in refusal(tmp_path)


@pytest.mark.parametrize(
    "name",
    ["topics.json", "meta.properties", "producer-ids", "incarnation", "topics.journal", "cleaner-offset-checkpoint"],
)
def test_a_folder_in_place_of_a_top_level_file_is_named(tmp_path, name):
    """Not a fault of ours."""
    lived(tmp_path)
    (tmp_path / name).unlink(missing_ok=True)
    (tmp_path / name).mkdir()
    assert f"{tmp_path / name}: cannot be read (Is a directory): restore the file from a copy" in refusal(tmp_path)


def test_an_unreadable_file_is_reported_as_a_permission_problem(tmp_path, monkeypatch):
    """Exit code 3."""
    lived(tmp_path)

    def denied(root):
        raise PermissionError(13, "Permission denied", str(tmp_path / "topics.json"))

    monkeypatch.setattr("eosfw_memory.storage.files.topic_journal.read_topics", denied)
    with pytest.raises(ConfigError, match=r"topics\.json, which this user may not read or change; change its rights"):
        started(tmp_path)


@pytest.mark.parametrize("topic", ["__transaction_state", "__consumer_offsets"])
def test_damage_in_the_logs_of_coordinators_is_named_by_file_and_position(tmp_path, topic):
    """It was a fault of ours, exit code 1; what cannot be read could be any decision."""
    lived(tmp_path)
    (tmp_path / "coordinators.snapshot").unlink()
    path = data_file(tmp_path, topic=topic)
    flip(path, HEADER.size)
    before = {name: digest for name, digest in files(tmp_path).items() if name.endswith((".log", ".json"))}
    with pytest.raises(DamagedDataError, match=rf"{path}: the batch at byte 0 \(offset 0\) is damaged: ") as why:
        started(tmp_path)
    assert why.value.exit_code == 4
    assert before.items() <= files(tmp_path).items()
    shutil.rmtree(tmp_path)
    started(tmp_path).close()  # the lock was given back


@pytest.mark.parametrize("topic", ["__transaction_state", "__consumer_offsets"])
def test_an_invalid_coordinator_record_is_named_by_file_and_offset(tmp_path, topic):
    """Its checksum fits, so the disk is not to blame."""
    lived(tmp_path)
    path = data_file(tmp_path, topic=topic)
    first = path.read_bytes()[: int.from_bytes(path.read_bytes()[8:12]) + 12]
    at = first.index(b"id" if topic.startswith("__t") else b"group") - 1
    path.write_bytes(patched(first, at, ">b", 99) + path.read_bytes()[len(first) :])
    for each in (*path.parent.glob("*.index"), *path.parent.glob("*.snapshot"), tmp_path / "coordinators.snapshot"):
        each.unlink()
    with pytest.raises(DamagedDataError, match=rf"{path} \(offset 0\): .*: restore the file from a copy"):
        started(tmp_path)


@pytest.mark.parametrize("flipped", [0, 8, 12, 15, 16], ids=["offset", "size", "epoch", "epoch's end", "magic"])
def test_a_batch_header_outside_the_checksum_is_checked_before_serving(tmp_path, flipped):
    """A client takes another format, or another epoch, for what the broker means."""
    house = DataDirectoryHarness(tmp_path)
    for number in range(3):
        Writer(house.log, number).send(b"v", transactional=False)
    size = len(next(house.log.batches()))
    house.stop()
    path = data_file(tmp_path)
    flip(path, size + flipped)
    house = DataDirectoryHarness(tmp_path)
    with pytest.raises(Exception, match=rf"{path}: the batch at byte {size} \(offset 1\) is damaged"):
        list(house.log.batches())
    house.crash()


@pytest.mark.parametrize("flipped", [16, 12], ids=["magic", "epoch"])
def test_a_changed_header_of_the_last_batch_is_not_truncated(tmp_path, flipped):
    """Its checksum fits, so all of it was written; it was acknowledged, hence it is not cut off."""
    house = DataDirectoryHarness(tmp_path)
    Writer(house.log, 1).send(b"v", transactional=False)
    house.crash()
    path = data_file(tmp_path)
    flip(path, flipped, 0x10)
    with pytest.raises(DamagedDataError, match=r"damaged at byte 0 \(offset 0\).* it is whole, so no torn last write"):
        DataDirectoryHarness(tmp_path)


def test_a_second_close_closes_no_file_descriptor(tmp_path):
    """By then the descriptor's number may belong to another file."""
    cluster = started(tmp_path)
    number = cluster.broker.storage._lock
    cluster.close()
    other = os.open(os.devnull, os.O_RDONLY)
    os.dup2(other, number)
    cluster.close()
    cluster.broker.storage.release()
    os.fstat(number)
    for each in {other, number}:
        os.close(each)
    DataDirectory.open(tmp_path, waits=False, node_id=NODE).close({})
