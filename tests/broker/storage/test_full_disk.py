"""A start on a full disk: what is there is read, nothing is accepted, and a start with room goes on as usual."""

from __future__ import annotations

import errno

import pytest

from eosfw.errors import DamagedDataError
from eosfw.ids import TopicPartition
from eosfw_memory.common.codes import Code
from eosfw_memory.common.log_errors import KafkaStorageError
from eosfw_memory.server.coordinators.transaction_state import TransactionState
from eosfw_memory.storage.files.data_directory import DataDirectory
from eosfw_memory.storage.records.codec import encode_batch
from eosfw_memory.storage.records.transaction_result import TransactionResult

from ..brokers import started
from ..log.log_harness import UNCOMMITTED, Consumer, Writer
from .data_directory_harness import SMALL, TOPIC, files, leave_logs_alone
from .failing_system import FailingSystem


def full(code: int = errno.ENOSPC, after: int = 0) -> FailingSystem:
    """Takes no byte more after a number of writes; cutting off, renaming and removing need no room."""
    return FailingSystem(code, at=after + 1)


class Run:
    """One run of a broker on a directory."""

    def __init__(self, root, system=None, *, waits: bool = False) -> None:
        self.broker = started(root, system=system, waits=waits)
        self.storage = self.broker.storage

    @property
    def log(self):
        return self.broker.topics.by_name(TOPIC).partitions[0].log

    def values(self) -> list[bytes]:
        return [value for _, value in Consumer(self.log, UNCOMMITTED).drain()]

    def kill(self) -> None:
        for segment in [*self.log.rolled_segments(), self.log.active_segment]:
            segment.file.close()
        self.storage.release()


def first_run(root, **how) -> Run:
    """A run that has appended three records, in several segments, and an open transaction of nobody."""
    run = Run(root, **how)
    run.broker.topics.create(TOPIC, 1, SMALL)
    for number in range(3):
        Writer(run.log, 5 + number).send(b"%d" % number, transactional=number == 2)
    return run


def assert_reads_alone(run: Run, expected: list[bytes]) -> None:
    assert run.values() == expected
    with pytest.raises(KafkaStorageError, match="it is read-only until the cause is gone") as refused:
        Writer(run.log, 9).send(b"more", transactional=False)
    assert refused.value.code is Code.KAFKA_STORAGE_ERROR
    with pytest.raises(KafkaStorageError):
        run.broker.topics.create("another", 1, {})
    with pytest.raises(KafkaStorageError):
        run.broker.coordinator.fresh_producer_id()
    assert run.broker.describe_log_dir().failed


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
@pytest.mark.parametrize("killed", [True, False], ids=["killed", "stopped"])
def test_a_start_on_a_full_disk_serves_reads_alone(tmp_path, code, killed):
    """Whoever must make room may first have to read what is there. At each write of a start."""
    run = first_run(tmp_path)
    expected = run.values()
    run.kill() if killed else run.broker.close()
    for takes in range(3):
        read_only = Run(tmp_path, full(code, takes))
        assert read_only.values() == expected
        assert_reads_alone(read_only, expected)
        read_only.broker.close()
    again = Run(tmp_path)
    assert again.values() == expected
    Writer(again.log, 10).send(b"more", transactional=False)
    assert again.values() == [*expected, b"more"]
    assert again.log.open_transactions() == []
    again.broker.close()


@pytest.mark.parametrize("waits", [False, True], ids=["os", "fsync"])
def test_a_torn_write_and_missing_indexes_do_not_stop_a_start_on_a_full_disk(tmp_path, waits):
    """What a start repairs besides is repaired by the next one."""
    run = first_run(tmp_path)
    expected = run.values()
    run.kill()
    leave_logs_alone(tmp_path)
    last = max((tmp_path / f"{TOPIC}-0").glob("*.log"))
    with last.open("ab") as file:
        file.write(b"torn")
    read_only = Run(tmp_path, full(), waits=waits)
    assert_reads_alone(read_only, expected)
    read_only.broker.close()
    again = Run(tmp_path)
    assert again.values() == expected
    again.broker.close()


def test_starts_on_a_full_disk_leave_a_stopped_directory_as_it_is(tmp_path):
    """So the start with room takes it neither for a copy nor for one that was killed."""
    run = first_run(tmp_path)
    run.broker.close()
    before = files(tmp_path)
    for _ in range(2):
        Run(tmp_path, full()).broker.close()
    assert {name: digest for name, digest in files(tmp_path).items() if not name.endswith(".tmp")} == {
        name: digest for name, digest in before.items() if name != "coordinators.snapshot"
    }
    again = Run(tmp_path)
    assert not again.storage.restored
    again.broker.close()


def test_a_broken_disk_still_refuses_the_start(tmp_path):
    """Nobody can say what a disk with errors will give to readers; a full one gives what was written."""
    run = first_run(tmp_path)
    run.broker.close()
    with pytest.raises(DamagedDataError, match="Input/output error"):
        Run(tmp_path, full(errno.EIO))
    Run(tmp_path).broker.close()


def test_a_copy_on_a_full_disk_is_fenced_by_the_start_with_room(tmp_path):
    """Nobody can be fenced where nothing can be written; until then nobody can write either."""
    first_run(tmp_path / "own").broker.close()
    (tmp_path / "own").rename(tmp_path / "copy")
    lock = tmp_path / "copy" / ".lock"
    lock.unlink()
    lock.touch()
    read_only = Run(tmp_path / "copy", full())
    assert_reads_alone(read_only, read_only.values())
    read_only.broker.close()
    again = DataDirectory.open(tmp_path / "copy", waits=False, node_id=1)
    assert again.restored
    again.release()


def test_a_transaction_behind_a_decided_one_does_not_stop_a_start_on_a_full_disk(tmp_path):
    """KIP-890: what the coordinator has to write about it waits for room, and so does its end."""
    run = first_run(tmp_path)
    coordinator, now = run.broker.coordinator, run.broker.now_ms()
    where = TopicPartition(TOPIC, 0)
    producer = coordinator.initialise("id", 60_000, None, now)
    coordinator.add_partitions("id", producer, [where], now, 2)
    after = coordinator.end_with_epoch_bump("id", producer, TransactionResult.COMMIT, now)
    run.log.append_marker(after, TransactionResult.COMMIT, 0, now)
    batch = encode_batch(None, [b"behind"], now, producer=after, base_sequence=0, transactional=True)
    run.log.append(batch, now)
    expected = run.values()
    run.kill()
    read_only = Run(tmp_path, full())
    assert_reads_alone(read_only, expected)
    read_only.broker.close()
    again = Run(tmp_path)
    assert again.broker.coordinator.describe("id").state is TransactionState.ONGOING
    again.broker.close()
