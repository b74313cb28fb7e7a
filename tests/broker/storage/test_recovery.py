"""Recovery after a crash: every acknowledged batch is there, torn writes are truncated."""

from __future__ import annotations

import shutil

import pytest

from eosfw.errors import DamagedDataError

from ..log.log_harness import NOW, Writer, plain
from .data_directory_harness import (
    SMALL,
    TOPIC,
    DataDirectoryHarness,
    bits,
    data_file,
    flip,
    log_facts,
    old_blocks,
    refused_start,
    zeros,
)


def filled(root, *, clean=False, batches=6, first_id=1, **config):
    """A directory after a run with two producers, one in an open transaction; return its log facts."""
    house = DataDirectoryHarness(root, **config)
    first, second = Writer(house.log, first_id), Writer(house.log, first_id + 1)
    for number in range(batches):
        first.send(b"a%d" % number)
        if number % 2:
            first.abort() if number % 4 == 1 else first.commit()
    second.send(b"open")
    house.log.append(plain(b"last"), NOW)
    before = log_facts(house.log)
    house.stop() if clean else house.crash()
    return before


def start_of_last_batch(root):
    house = DataDirectoryHarness(root)
    last = list(house.log.batches())[-1]
    house.crash()
    return data_file(root, -1).stat().st_size - len(last)


def test_a_torn_last_write_is_truncated_and_reported(tmp_path, caplog):
    """Complete batches stay, the truncated bytes are reported, a second start truncates nothing."""
    filled(tmp_path / "whole")
    begins = start_of_last_batch(tmp_path / "whole")
    size = data_file(tmp_path / "whole", -1).stat().st_size
    for at in range(begins + 1, size):
        shutil.copytree(tmp_path / "whole", root := tmp_path / str(at))
        with data_file(root, -1).open("r+b") as file:
            file.truncate(at)
        caplog.clear()
        house = DataDirectoryHarness(root)
        assert f"{at - begins} bytes" in caplog.text
        assert list(house.log.batches())[-1].endswith(b"open\x00")
        after = log_facts(house.log)
        house.crash()
        caplog.clear()
        house = DataDirectoryHarness(root)
        assert (log_facts(house.log), caplog.text) == (after, "")
        house.crash()


@pytest.mark.parametrize("tail", [b"\x00" * 500, b"garbage" * 40, b"\x00" * 12 + b"\x00\x00\x00\x00\x02" * 30])
def test_a_tail_that_is_no_batch_is_truncated_after_a_power_cut(tmp_path, tail):
    """Garbage, zeros as a power cut leaves them, bytes that look like the head of a batch; no kill leaves any."""
    before = filled(tmp_path)
    with data_file(tmp_path, -1).open("ab") as file:
        file.write(tail)
    with refused_start(tmp_path, "no torn last write. Nothing was changed: restore the file from a copy"):
        DataDirectoryHarness(tmp_path)
    (tmp_path / ".running").write_bytes(b"another run of the machine")
    house = DataDirectoryHarness(tmp_path)
    assert log_facts(house.log) == before
    house.log.append(plain(b"goes on"), NOW)
    house.crash()


def test_a_flipped_bit_is_named_by_file_and_position_without_repair(tmp_path):
    """Every byte of a batch that others follow; exit code 4."""
    filled(tmp_path / "whole")
    house = DataDirectoryHarness(tmp_path / "whole")
    sizes = [len(batch) for batch in house.log.batches()]
    house.crash()
    for at in range(sizes[0], sizes[0] + sizes[1]):
        shutil.copytree(tmp_path / "whole", root := tmp_path / str(at))
        path = data_file(root)
        flip(path, at, 0x10)
        with refused_start(root) as refused:
            DataDirectoryHarness(root)
        assert f"{path}: damaged at byte {sizes[0]} (offset 1)" in str(refused.value)


@pytest.mark.parametrize("harm", [bits, zeros, old_blocks])
def test_a_damaged_last_batch_is_no_torn_write_of_a_killed_process(tmp_path, harm):
    """It was acknowledged: a process that is killed leaves the beginning of a batch at most."""
    filled(tmp_path, batches=1)
    begins, path = start_of_last_batch(tmp_path), data_file(tmp_path, -1)
    content = path.read_bytes()
    for changed in harm(content):
        if changed[:begins] == content[:begins] and changed != content:
            path.write_bytes(changed)
            with refused_start(tmp_path, rf"{path}: damaged at byte {begins} .*: restore the file from a copy"):
                DataDirectoryHarness(tmp_path)


@pytest.mark.parametrize("suffix", [".index", ".snapshot"])
@pytest.mark.parametrize("harm", ["missing", "empty", "flipped", "older", "newer", "foreign"])
def test_damaged_or_missing_files_beside_the_log_are_rebuilt(tmp_path, suffix, harm):
    """For every kind of damage the log alone gives the same state."""
    before = filled(tmp_path / "ours", clean=True, **SMALL)
    filled(tmp_path / "theirs", clean=True, first_id=11, **SMALL)
    filled(tmp_path / "old", clean=True, batches=4, **SMALL)
    ours, theirs, old = (tmp_path / name / f"{TOPIC}-0" for name in ("ours", "theirs", "old"))
    for path in sorted(ours.glob(f"*{suffix}")):
        if harm == "missing":
            path.unlink()
        elif harm == "empty":
            path.write_bytes(b"")
        elif harm == "flipped":
            flip(path, path.stat().st_size // 2)
        elif harm == "foreign":
            path.write_bytes((theirs / path.name).read_bytes())
        elif harm == "older" and (old / path.name).exists():
            path.write_bytes((old / path.name).read_bytes())
    if harm == "newer":
        last = max(ours.glob(f"*{suffix}"))
        shutil.copy(last, ours / f"{10**6:020d}{suffix}")
    house = DataDirectoryHarness(tmp_path / "ours")
    assert log_facts(house.log) == before
    house.stop()
    assert not (ours / f"{10**6:020d}{suffix}").exists()


def cut_after_a_stop(root, **config):
    """A log whose last record was removed after a clean stop, with its indexes and snapshots kept."""
    house = DataDirectoryHarness(root, **config)
    writer = Writer(house.log, 3)
    for number in range(5):
        writer.send(b"%d" % number, transactional=False)
    last = len(list(house.log.batches())[-1])
    house.stop()
    with data_file(root, -1).open("r+b") as file:
        file.truncate(file.seek(0, 2) - last)


@pytest.mark.parametrize("config", [{}, SMALL], ids=["one segment", "several"])
@pytest.mark.parametrize("left", [".index", ".snapshot", ".log"], ids=["index", "snapshot", "both"])
def test_records_lost_after_a_clean_stop_are_detected(tmp_path, config, left):
    """Offsets would be given again; index, or snapshot, alone proves what was there; exit code 4."""
    cut_after_a_stop(tmp_path, **config)
    for path in (tmp_path / f"{TOPIC}-0").iterdir():
        if path.suffix not in (".log", left) and left != ".log":
            path.unlink()
    path = data_file(tmp_path, -1)
    with refused_start(tmp_path) as why:
        DataDirectoryHarness(tmp_path)
    assert f"{path}: ends at byte {path.stat().st_size} (offset 4), but" in str(why.value)
    assert "made of records up to offset 5: they are lost. Nothing was changed: restore" in str(why.value)


@pytest.mark.parametrize("harm", ["unlink", "empty"])
def test_a_newest_segment_lost_after_a_clean_stop_is_detected(tmp_path, harm):
    """Only the files beside the log show that the segment existed."""
    filled(tmp_path, clean=True, **SMALL)
    path = data_file(tmp_path, -1)
    path.unlink() if harm == "unlink" else path.write_bytes(b"")
    with refused_start(tmp_path, r"they are lost\. Nothing was changed"):
        DataDirectoryHarness(tmp_path)


@pytest.mark.parametrize("suffix", [".log", ".index", ".snapshot"])
def test_a_folder_in_the_place_of_a_file_is_named(tmp_path, suffix):
    """Exit code 4, not a fault of ours."""
    filled(tmp_path, clean=True)
    path = max((tmp_path / f"{TOPIC}-0").glob(f"*{suffix}"))
    path.unlink()
    path.mkdir()
    with pytest.raises(DamagedDataError, match=f"{path}: is no file. Nothing was changed: "):
        DataDirectoryHarness(tmp_path)


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        (lambda d: (d / "abc.log").write_bytes(b""), "a segment's name is an offset"),
        (lambda d: (d / "1.log").write_bytes(b"x"), "a segment's name is an offset"),
        (lambda d: sorted(d.glob("*.log"))[1].unlink(), "leaves a gap before"),
        (lambda d: shutil.copy(min(d.glob("*.log")), d / f"{1:020d}.log"), "overlaps"),
        (lambda d: sorted(d.glob("*.log"))[1].write_bytes(b""), "leaves a gap before"),
        (lambda d: [each.unlink() for each in d.glob("*.log")], "every segment .* is missing"),
        (lambda d: d.rename(d.with_name("flights-7")), "is missing"),
        (lambda d: shutil.copytree(d, d.with_name("flights-7")), "belongs to no topic"),
        (lambda d: (d.parent / "topics.json").write_text("{"), "topics.json: cannot be read"),
    ],
    ids=[
        "no number",
        "short number",
        "gap",
        "overlap",
        "emptied",
        "all gone",
        "directory gone",
        "stray directory",
        "topic list",
    ],
)
def test_an_unreadable_data_directory_is_refused(tmp_path, harm, message):
    """Never a guess; exit code 4, everything as it was."""
    filled(tmp_path, **SMALL)
    harm(tmp_path / f"{TOPIC}-0")
    with refused_start(tmp_path, message):
        DataDirectoryHarness(tmp_path)


def test_an_unknown_file_is_left_alone_and_reported(tmp_path, caplog):
    """It may belong to an editor or an administrator, and the logs are readable without it."""
    before = filled(tmp_path)
    (strange := tmp_path / f"{TOPIC}-0" / ".00000000000000000000.log.swp").write_bytes(b"x")
    house = DataDirectoryHarness(tmp_path)
    assert log_facts(house.log) == before
    assert strange.name in caplog.text
    assert strange.exists()
    house.stop()
