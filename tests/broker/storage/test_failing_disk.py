"""A failing disk: acknowledged writes stay, later writes are refused, reads continue."""

from __future__ import annotations

import errno
import os
from contextlib import suppress

import pytest

from eosfw.errors import DamagedDataError
from eosfw_memory.common.codes import Code
from eosfw_memory.common.log_errors import CorruptMessageError, KafkaStorageError
from eosfw_memory.storage.files.disk import FAILED, RUNNING, DataFile, Disk
from eosfw_memory.storage.records.codec import encode_batch

from ..log.log_harness import NOW, UNCOMMITTED, Consumer, Writer, plain
from .data_directory_harness import (
    SMALL,
    TOPIC,
    DataDirectoryHarness,
    data_file,
    flip,
    leave_logs_alone,
    log_facts,
    refused_start,
)
from .failing_system import FailingSystem


def writes_of_a_run(root) -> int:
    """How often a run of the same work writes."""
    system = FailingSystem(errno.ENOSPC)
    house = DataDirectoryHarness(root, system=system, **SMALL)
    before = system.writes
    work(house)
    house.crash()
    return system.writes - before


def work(house):
    """Append until an error; return acknowledged values, the writer and the error."""
    writer, acknowledged = Writer(house.log, 5), []
    for number in range(12):
        try:
            writer.send(b"%d" % number, transactional=False)
        except KafkaStorageError as why:
            return acknowledged, writer, why
        acknowledged.append(b"%d" % number)
    return acknowledged, writer, None


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EIO])
@pytest.mark.parametrize("takes", [0, 30], ids=["nothing written", "written in part"])
@pytest.mark.parametrize("recovers", [True, False], ids=["works again", "stays full"])
def test_after_a_failed_write_the_log_accepts_no_more_writes(tmp_path, code, takes, recovers):
    """KAFKA-10778: at each write of a run, those of a roll among them."""
    for at in range(1, writes_of_a_run(tmp_path / "count") + 1):
        system = FailingSystem(code, takes=takes)
        house = DataDirectoryHarness(tmp_path / str(at), system=system, **SMALL)
        system.at, system.once = system.writes + at, recovers
        acknowledged, writer, why = work(house)
        assert os.strerror(code) in str(why) or takes
        if why is None:  # the disk took the rest at the second attempt
            house.crash()
            continue
        with pytest.raises(KafkaStorageError, match="read-only until the cause is gone"):
            writer.send(b"more", transactional=False)
        with pytest.raises(KafkaStorageError):
            house.log.append(plain(b"x"), NOW)
        with pytest.raises(KafkaStorageError):
            house.topics.create("another", 1, {})
        assert [value for _, value in Consumer(house.log, UNCOMMITTED).drain()] == acknowledged
        live = log_facts(house.log)
        house.crash()
        house = DataDirectoryHarness(tmp_path / str(at))
        after = log_facts(house.log)
        assert after["batches"][: len(acknowledged)] == live["batches"]
        assert len(after["batches"]) <= len(acknowledged) + 1
        Writer(house.log, 6).send(b"goes on")
        house.stop()


def test_a_segment_that_cannot_be_removed_closes_the_directory_for_writing(tmp_path):
    """Who deletes old segments gets Kafka's error, readers begin behind them; the next start has what is left."""
    system = FailingSystem(errno.EIO)
    house = DataDirectoryHarness(tmp_path, system=system, **SMALL)
    acknowledged, writer, _ = work(house)
    system.removes = False

    with pytest.raises(KafkaStorageError, match=os.strerror(errno.EIO)):
        house.log.delete_oldest_segment()
    assert house.log.log_start_offset == house.log.rolled_segments()[0].base_offset > 0
    with pytest.raises(KafkaStorageError, match="read-only until the cause is gone"):
        writer.send(b"more", transactional=False)
    house.crash()

    house = DataDirectoryHarness(tmp_path)
    assert [value for _, value in Consumer(house.log, UNCOMMITTED).drain()] == acknowledged
    house.stop()


def test_a_duplicate_is_not_acknowledged_after_a_disk_failure(tmp_path):
    """The first attempt may be the one whose bytes are lost."""
    system = FailingSystem(errno.EIO)
    house = DataDirectoryHarness(tmp_path, system=system)
    writer = Writer(house.log, 5)
    writer.send(b"one", transactional=False)
    house.storage.disk.fail(data_file(tmp_path), OSError(errno.EIO, os.strerror(errno.EIO)))
    with pytest.raises(KafkaStorageError):
        writer.send(b"one", transactional=False, sequence=0)
    house.crash()


def test_an_interrupted_recovery_does_not_change_the_next_recovery(tmp_path):
    """A crash while recovering, at each write of the recovery."""
    house = DataDirectoryHarness(tmp_path, **SMALL)
    work(house)
    before = log_facts(house.log)
    house.crash()
    leave_logs_alone(tmp_path)
    with data_file(tmp_path, -1).open("ab") as file:
        file.write(b"torn")
    failing = 0
    for at in range(1, 20):
        system = FailingSystem(errno.EIO, at=at)
        try:
            DataDirectoryHarness(tmp_path, system=system).crash()
        except DamagedDataError:
            failing += 1
    assert failing
    house = DataDirectoryHarness(tmp_path)
    assert log_facts(house.log) == before
    house.stop()


def test_after_a_failure_the_disk_is_not_used_again(tmp_path):
    """For every writer, including compaction: a second fsync could report success for lost data."""
    disk = Disk(tmp_path, FailingSystem(errno.EIO, at_sync=1))
    file = DataFile(tmp_path / "any")
    disk.write(file, [b"x"], 0)
    with pytest.raises(KafkaStorageError):
        disk.sync_file(file)
    for attempt in (lambda: disk.write(file, [b"y"], 1), lambda: disk.replace(tmp_path / "other", b"z", durable=True)):
        with pytest.raises(KafkaStorageError, match="read-only"):
            attempt()
    file.close()
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("any", b"x")]


def test_an_fsync_that_fails_behind_a_write_to_a_full_disk_is_noted_for_the_next_start(tmp_path):
    """It was under way; what it was to confirm is not to be trusted, unlike what a full disk took."""
    system = FailingSystem(errno.ENOSPC, at=2, at_sync=1)
    disk = Disk(tmp_path, system, waits=True)
    (tmp_path / RUNNING).write_bytes(b"")
    file = DataFile(tmp_path / "any")
    disk.write(file, [b"x"], 0)
    under_way = disk.take_unsynced()

    with pytest.raises(KafkaStorageError):
        disk.write(file, [b"y"], 1)
    assert (disk.full, (tmp_path / FAILED).exists()) == (True, False)
    with pytest.raises(KafkaStorageError):
        disk.sync(under_way)
    assert (disk.full, (tmp_path / FAILED).exists()) == (False, True)
    file.close()


def test_a_topic_whose_creation_failed_at_the_disk_does_not_refuse_the_next_start(tmp_path):
    """Nobody can say whether the list has it: at each wait for a file."""
    for at in range(1, 4):
        system = FailingSystem(errno.EIO)
        house = DataDirectoryHarness(tmp_path / str(at), waits=True, system=system)
        system.at_sync = system.syncs + at
        with suppress(KafkaStorageError):
            house.topics.create("another", 1, {})
        house.crash()
        DataDirectoryHarness(tmp_path / str(at)).stop()


@pytest.mark.parametrize("forgets", [True, False], ids=["memory forgets", "memory keeps"])
@pytest.mark.parametrize("code", [errno.EIO, errno.ENOSPC])
@pytest.mark.parametrize("failing_renames", [0, 1], ids=["marked", "marked at the second attempt"])
def test_what_a_failed_fsync_was_to_confirm_is_not_taken_for_confirmed_by_the_next_start(
    tmp_path, failing_renames, code, forgets
):
    """The system may forget such a write, or keep it in memory and call its next fsync a success."""
    system = FailingSystem(code)
    house = DataDirectoryHarness(tmp_path, waits=True, system=system)
    Writer(house.log, 5).send(b"confirmed", transactional=False)
    house.storage.disk.sync_file(house.log.active_segment.file)
    confirmed = data_file(tmp_path).stat().st_size
    for number in (6, 7):
        Writer(house.log, number).send(b"never", transactional=False)
    system.at_sync, system.failing_renames = system.syncs + 1, failing_renames
    with pytest.raises(KafkaStorageError):
        house.storage.disk.sync_file(house.log.active_segment.file)
    house.crash()
    before = data_file(tmp_path).stat().st_ino
    if forgets:
        with data_file(tmp_path).open("r+b") as file:
            file.seek(confirmed)
            file.write(bytes(100))

    house = DataDirectoryHarness(tmp_path, waits=True)

    found = [value for _, value in Consumer(house.log, UNCOMMITTED).drain()]
    assert found == ([b"confirmed"] if forgets else [b"confirmed", b"never", b"never"])
    assert data_file(tmp_path).stat().st_ino != before  # written anew, and so waited for
    house.stop()


@pytest.mark.parametrize("at", [2, 7], ids=["far ahead", "a little"])
def test_a_damaged_offset_is_no_gap_of_a_compaction_that_never_was(tmp_path, at):
    """No checksum covers the offset of a batch; behind the only one there is nothing that it contradicts."""
    house = DataDirectoryHarness(tmp_path, **{"cleanup.policy": "compact"})
    house.log.append(encode_batch([b"k"], [b"v"], NOW), NOW)
    house.crash()
    flip(data_file(tmp_path), at, 2)
    with refused_start(tmp_path, "damaged at byte 0"):
        DataDirectoryHarness(tmp_path)


@pytest.mark.parametrize("at", [0, 7], ids=["far ahead", "a little"])
@pytest.mark.parametrize("policy", ["compact", "delete"])
def test_records_behind_a_damaged_offset_are_not_cut_off_for_a_torn_write(tmp_path, policy, at):
    """No checksum covers the offset of a batch, and in a compacted log it may jump."""
    house = DataDirectoryHarness(tmp_path, **{"cleanup.policy": policy})
    for _ in range(3):
        house.log.append(encode_batch([b"k"], [b"v"], NOW), NOW)
    house.crash()
    flip(data_file(tmp_path), at, 2)
    with refused_start(tmp_path, "damaged at byte"):
        DataDirectoryHarness(tmp_path)


def test_too_many_open_files_refuse_one_append_and_nothing_more(tmp_path, monkeypatch):
    """Nothing was written, so nothing is in doubt; the next one may work."""
    house = DataDirectoryHarness(tmp_path)
    opened = os.open
    refusing = [OSError(errno.EMFILE, os.strerror(errno.EMFILE))]

    def open_or_refuse(*arguments):
        if refusing:
            raise refusing.pop()
        return opened(*arguments)

    monkeypatch.setattr(os, "open", open_or_refuse)
    with pytest.raises(KafkaStorageError, match="cannot be opened: Too many open files"):
        house.log.append(plain(b"refused"), NOW)
    house.log.append(plain(b"taken"), NOW)
    assert [value for _, value in Consumer(house.log, UNCOMMITTED).drain()] == [b"taken"]
    house.stop()


def test_a_full_disk_is_logged_once_for_each_partition(tmp_path, caplog):
    """Clients get a code, so the broker's log has to say what happened, to which file, what to do."""
    system = FailingSystem(errno.ENOSPC)
    house = DataDirectoryHarness(tmp_path, system=system)
    house.topics.create("other", 1, {})
    system.at = system.writes + 1
    other = house.topics.by_name("other").partitions[0].log
    for log in (house.log, other, house.log, other):
        with pytest.raises(KafkaStorageError) as why:
            log.append(plain(b"x"), NOW)
        assert why.value.code is Code.KAFKA_STORAGE_ERROR
    failed, refused = [each.message for each in caplog.records if each.levelname == "ERROR"]
    assert f"{TOPIC}-0/00000000000000000000.log: No space left on device" in failed
    assert "it is read-only until the cause is gone and the broker is started again" in failed
    assert refused.startswith("other-0: takes no more records: data directory ")
    house.crash()


def test_a_damaged_batch_is_logged_once_for_each_partition(tmp_path, caplog):
    """A message with every fetch, of which there are many a second, would fill the log of the broker."""
    house = DataDirectoryHarness(tmp_path)
    for number in range(3):
        Writer(house.log, number).send(b"v", transactional=False)
    house.stop()
    path = data_file(tmp_path)
    flip(path, 65)
    house = DataDirectoryHarness(tmp_path)
    for _ in range(3):
        with pytest.raises(CorruptMessageError) as why:
            house.log.fetch(0, 1000, UNCOMMITTED)
        # Not KAFKA_STORAGE_ERROR, which clients take for a matter of time: they would wait and say something else.
        assert why.value.code is Code.CORRUPT_MESSAGE
    [message] = [each.message for each in caplog.records if each.levelname == "ERROR"]
    assert message.startswith(f"{path}: the batch at byte 0 (offset 0) is damaged: stop the broker and restore")
    house.crash()
