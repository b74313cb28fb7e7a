"""A start after a crash looks only at what was written since the last checkpoint, and finds the same."""

from __future__ import annotations

import pytest

from eosfw.errors import DamagedDataError
from eosfw_memory.common.log_errors import CorruptMessageError
from eosfw_memory.storage.files.segments.file_log_storage import FileLogStorage
from eosfw_memory.storage.records.codec import encode_batch

from ..log.log_harness import NOW, UNCOMMITTED, Writer, plain
from .data_directory_harness import TOPIC, DataDirectoryHarness, data_file, flip, log_facts, refused_start

BATCHES = 20


@pytest.fixture(autouse=True)
def small_steps(monkeypatch):
    """A checkpoint every few batches."""
    monkeypatch.setattr(FileLogStorage, "checkpoint_bytes", 300)


def lived(root, batches=BATCHES, **config):
    """A run with transactions of every kind that ends by a kill; return its log facts."""
    house = DataDirectoryHarness(root, **config)
    first, second = Writer(house.log, 1), Writer(house.log, 2)
    second.send(b"open")
    for number in range(batches):
        first.send(b"a%d" % number)
        if number % 3 == 2:
            first.abort() if number % 2 else first.commit()
    before = log_facts(house.log)
    house.crash()
    return before


def beside(root, suffix):
    return sorted((root / f"{TOPIC}-0").glob(f"*{suffix}"))


def test_data_before_the_checkpoint_is_checked_on_reading_only(tmp_path):
    """Damage before the last checkpoint is found by the reader; behind it by the start."""
    lived(tmp_path / "one")
    path = data_file(tmp_path / "one")
    flip(path, 65)
    house = DataDirectoryHarness(tmp_path / "one")
    with pytest.raises(CorruptMessageError, match=f"{path}: the batch at byte 0"):
        house.log.fetch(0, 10_000, UNCOMMITTED)
    house.crash()

    house = DataDirectoryHarness(tmp_path / "two")
    sizes = [len(house.log.active_segment.bytes_of(n, n + 1)) for n in range(7) if house.log.append(plain(b"x"), NOW)]
    house.crash()
    kept = int(beside(tmp_path / "two", ".snapshot")[-1].stem)
    flip(data_file(tmp_path / "two"), sum(sizes[:kept]) + 65)
    assert 0 < kept < 6
    with pytest.raises(DamagedDataError, match=f"damaged at byte {sum(sizes[:kept])} "):
        DataDirectoryHarness(tmp_path / "two")


def test_checkpoints_are_not_trusted_after_a_machine_crash(tmp_path):
    """Without fsync a power cut may lose any write, so a full check looks for damage everywhere."""
    lived(tmp_path)
    flip(data_file(tmp_path), 65)
    (tmp_path / ".running").write_bytes(b"another run of the machine")
    with refused_start(tmp_path, "damaged at byte 0"):
        DataDirectoryHarness(tmp_path)


@pytest.mark.parametrize("suffix", [".index", ".snapshot"])
@pytest.mark.parametrize("harm", ["missing", "empty", "first byte", "last byte", "torn", "twice", "garbage behind"])
def test_a_damaged_checkpoint_only_slows_recovery(tmp_path, suffix, harm):
    """Recovery from the log gives the same state, and later checkpoints are correct."""
    lived(tmp_path)
    for path in beside(tmp_path, suffix):
        content = path.read_bytes()
        if harm == "missing":
            path.unlink()
        elif harm == "first byte":
            flip(path, 0)
        elif harm == "last byte":
            flip(path, -1)
        else:
            changed = {"empty": b"", "torn": content[:-7], "twice": content * 2, "garbage behind": content + b"x" * 99}
            path.write_bytes(changed[harm])
    house = DataDirectoryHarness(tmp_path)
    writer = Writer(house.log, 3)
    for _ in range(BATCHES):
        writer.send(b"more")
    before = log_facts(house.log)
    house.crash()
    for end in ("crash", "stop", "crash"):
        house = DataDirectoryHarness(tmp_path)
        assert log_facts(house.log) == before
        getattr(house, end)()


def test_a_start_from_a_checkpoint_knows_the_newest_timestamp(tmp_path):
    """So that a search by time passes over older records behind it."""
    house = DataDirectoryHarness(tmp_path)
    house.log.append(plain(b"new"), NOW)
    house.stop()
    house = DataDirectoryHarness(tmp_path)
    house.log.append(encode_batch(None, [b"old"], NOW - 1000), NOW)
    assert house.log.active_segment.max_timestamp == NOW
    assert house.log.offset_for_timestamp(NOW).offset == 0
    house.stop()


def cut_back(root, whole):
    """A log shortened behind its checkpoints; return its log facts at that length."""
    house = DataDirectoryHarness(root)
    writer, sizes, states = Writer(house.log, 1), [0], [log_facts(house.log)]
    for number in range(BATCHES):
        writer.send(b"%d" % number, transactional=False)
        sizes.append(house.log.size)
        states.append(log_facts(house.log))
    house.crash()
    with data_file(root).open("r+b") as file:
        file.truncate(sizes[whole])
    return states[whole]


@pytest.mark.parametrize("whole", range(0, 15, 3))
def test_a_log_shorter_than_its_checkpoint_is_refused_after_a_kill(tmp_path, whole):
    """A kill cannot take back what was written before the checkpoint, so records are lost."""
    cut_back(tmp_path, whole)
    with refused_start(tmp_path, r"0\.log: ends at byte .* was made of records up to offset \d+"):
        DataDirectoryHarness(tmp_path)


@pytest.mark.parametrize("whole", range(0, BATCHES, 3))
def test_a_log_shorter_than_its_checkpoint_is_accepted_after_power_loss(tmp_path, whole):
    """Without `--flush=fsync` the checkpoint may be on the disk, what it was made of not."""
    state = cut_back(tmp_path, whole)
    (tmp_path / ".running").write_bytes(b"another run of the machine")
    for _ in range(3):
        house = DataDirectoryHarness(tmp_path)
        assert log_facts(house.log) == state
        house.crash()


def power_cut(root):
    """The machine of a broker that waited for the disk went down."""
    running = root / ".running"
    assert running.read_bytes().endswith(b"flush=fsync\n")
    running.write_bytes(b"another run of the machine\nflush=fsync\n")


def test_damage_before_a_checkpoint_is_refused_after_a_power_cut_with_fsync(tmp_path):
    """The checkpoint waited for the disk, so no write that was never confirmed is to blame."""
    lived(tmp_path, waits=True)
    flip(data_file(tmp_path), 65)
    power_cut(tmp_path)
    with refused_start(tmp_path, r"damaged at byte 0 .*; it was whole when \d+.\w+ was made, so no torn"):
        DataDirectoryHarness(tmp_path, waits=True)


def test_a_missing_write_truncates_the_log_after_power_loss_with_fsync(tmp_path, caplog):
    """No client got a response for them; without fsync, lost records before existing ones are refused."""
    house = DataDirectoryHarness(tmp_path, waits=True)
    for number in range(3):
        house.log.append(plain(b"%d" % number), NOW)
    size = len(next(house.log.batches()))
    house.crash()
    path = data_file(tmp_path)
    path.write_bytes(path.read_bytes()[:size] + bytes(size) + path.read_bytes()[2 * size :])
    (tmp_path / ".running").write_bytes(plain_run := b"another run of the machine\n")
    with pytest.raises(DamagedDataError, match=f"damaged at byte {size} .* a whole batch at byte {2 * size} behind it"):
        DataDirectoryHarness(tmp_path)
    (tmp_path / ".running").write_bytes(plain_run + b"flush=fsync\n")
    house = DataDirectoryHarness(tmp_path, waits=True)
    assert house.log.high_watermark == 1
    assert f"{2 * size} bytes of an unfinished write were cut off at byte {size}" in caplog.text
    house.stop()


def test_a_checkpoint_of_lost_records_is_ignored_after_new_appends(tmp_path):
    """A power cut took records of which the index tells; the log grows again, shorter, longer, as long."""
    cut_back(tmp_path, 3)
    (tmp_path / ".running").write_bytes(b"another run of the machine")
    for count in range(BATCHES):
        house = DataDirectoryHarness(tmp_path)
        house.log.append(plain(b"%d" % count), NOW)
        before = log_facts(house.log)
        house.crash()
        house = DataDirectoryHarness(tmp_path)
        assert log_facts(house.log) == before
        house.stop()


def test_short_runs_without_a_checkpoint_do_not_lengthen_recovery(tmp_path):
    """What a start scanned counts towards the next checkpoint."""
    for _ in range(12):
        house = DataDirectoryHarness(tmp_path)
        for _ in range(2):
            house.log.append(plain(b"x"), NOW)
        batch = house.log.size // house.log.high_watermark
        house.crash()
    house = DataDirectoryHarness(tmp_path)
    assert house.log.size == 24 * batch > 4 * 300
    assert house.log.size - house.log.active_segment.kept_size <= 300 + 3 * batch
    house.crash()


def test_a_log_keeps_one_index_and_the_snapshots_of_its_ends(tmp_path):
    """However many checkpoints there were: one index of each segment, one snapshot of each end, of the latest step."""
    lived(tmp_path)
    [index], snapshots = beside(tmp_path, ".index"), beside(tmp_path, ".snapshot")
    assert len(snapshots) == 1
    size = index.stat().st_size
    DataDirectoryHarness(tmp_path).stop()
    assert beside(tmp_path, ".index") == [index]
    assert len(beside(tmp_path, ".snapshot")) == 1
    assert index.stat().st_size > size
    written = index.stat().st_mtime_ns
    DataDirectoryHarness(tmp_path).stop()
    assert index.stat().st_mtime_ns == written, "nothing was written, so there is nothing to keep"
