"""Segments that compaction merges: fewer files, none too large, nothing lost in a crash (BRK-09)."""

from __future__ import annotations

import itertools
import shutil
from pathlib import Path

import pytest

from eosfw.errors import DamagedDataError
from eosfw_memory.storage.cleaner.compaction import compact
from eosfw_memory.storage.files.disk import Disk
from eosfw_memory.storage.log.partition_log import PartitionLog

from ..log.log_harness import COMMITTED, NOW, Consumer
from .compaction import DAY, RULES, Keyed, cleaned, rolled
from .data_directory_harness import DataDirectoryHarness, leave_logs_alone


def updated(log: PartitionLog, rounds: int, producer_id: int = 1) -> None:
    """A few keys, each written again and again, cleaned now and then."""
    writer = Keyed(log, producer_id)
    for number in range(rounds):
        for key in (b"a", b"b", b"c"):
            writer.send((key, b"%d" % number), transactional=False)
        writer.send((b"a", b"t%d" % number))
        writer.commit()
        if number % 5 == 4:
            compact(log, NOW + number * DAY)


def test_the_number_of_files_does_not_grow_with_what_was_written(house, tmp_path):
    """Each segment was rewritten for itself, and none ever went."""
    updated(house.log, 20)
    before = len(list(tmp_path.rglob("*.log")))
    updated(house.log, 100, 2)
    assert len(list(tmp_path.rglob("*.log"))) <= before + 1
    assert len(house.log.rolled_segments()) < 10
    assert len(list(tmp_path.rglob("*.snapshot"))) <= len(house.log.rolled_segments()) + 2


def test_a_merged_segment_never_exceeds_segment_bytes(house):
    """What does not fit stays apart."""
    writer = Keyed(house.log, 1)
    for number in range(40):
        writer.send((b"own%d" % number, b"o"), transactional=False)
    cleaned(house.log)
    sizes = [segment.size for segment in house.log.rolled_segments()]
    assert max(sizes) <= int(RULES["segment.bytes"])
    assert all(first + second > int(RULES["segment.bytes"]) for first, second in itertools.pairwise(sizes))


def test_a_missing_segment_is_refused_after_segments_were_merged(house, tmp_path):
    """Each segment ends where the next begins, whatever compaction took."""
    writer = Keyed(house.log, 1)
    for number in range(40):
        writer.send((b"own%d" % (number // 2), b"o"), transactional=False)
    cleaned(house.log)
    house.stop()
    second = sorted(tmp_path.rglob("*.log"))[1]
    content = second.read_bytes()
    second.unlink()
    with pytest.raises(DamagedDataError, match="leaves a gap before the next segment"):
        DataDirectoryHarness(tmp_path)
    second.write_bytes(content)
    house.__init__(tmp_path)


@pytest.mark.parametrize("bare", [False, True], ids=["all", "log alone"])
def test_a_crash_during_a_segment_merge_loses_nothing(tmp_path, monkeypatch, bare):
    """What covers others counts from its name on, whether or not they are gone."""
    root, states = tmp_path / "data", tmp_path / "states"
    house = DataDirectoryHarness(root, **RULES)
    updated(house.log, 4)
    rolled(house.log)
    before = (Consumer(house.log, COMMITTED).drain(), house.log.high_watermark)

    def copied() -> None:
        shutil.copytree(root, states / f"{len(list(states.iterdir())):03d}")

    def step(name: str, of: type) -> None:
        real = getattr(of, name)

        def recorded(self, *given, **named):
            copied()
            return real(self, *given, **named)

        monkeypatch.setattr(of, name, recorded)

    states.mkdir()
    for name in ("write", "rename", "replace", "sync_directory"):
        step(name, Disk)
    step("unlink", Path)
    segments = len(house.log.rolled_segments())
    assert compact(house.log, NOW)
    monkeypatch.undo()
    assert len(house.log.rolled_segments()) < segments - 2
    copied()
    after = Consumer(house.log, COMMITTED).drain()
    house.crash()

    found = []
    for state in sorted(states.iterdir()):
        if bare:
            leave_logs_alone(state)
        for _ in range(2):
            house = DataDirectoryHarness(state)
            rows = Consumer(house.log, COMMITTED).drain()
            assert (house.log.high_watermark, set(rows) >= set(after)) == (before[1], True)
            assert set(rows) <= set(before[0])
            house.crash()
        assert not [path for path in state.rglob("*") if path.suffix in (".joined", ".tmp")]
        found.append(len(rows))
    assert found[0] == len(before[0])
    assert found[-1] == len(after)
    assert len(found) > 10
