"""Each start on a data directory leads every partition in later epochs than any before it (KIP-101, KIP-320)."""

from __future__ import annotations

import itertools

import pytest

from eosfw.errors import DamagedDataError
from eosfw_memory.storage.files.checksum_line import read_checked
from eosfw_memory.storage.log.leader_epochs import UNDEFINED, EpochEnd, EpochStart

from ..log.log_harness import NOW, Writer, plain
from ..log.test_epochs import led
from .data_directory_harness import SMALL, TOPIC, DataDirectoryHarness, data_file, leave_logs_alone, refused_start

ENDINGS = pytest.mark.parametrize("end", ["stop", "crash"])
HISTORY = [EpochStart(0, 0), EpochStart(2, 2), EpochStart(6, 4)]
BATCHES = [(0, 0), (1, 0), (2, 2), (3, 2), (4, 6), (5, 6)]


def lived(root, end="crash", **config):
    """Four starts, of which the third writes nothing; the last runs."""
    for start in range(4):
        house = DataDirectoryHarness(root, **config)
        if start != 2:
            house.log.append(plain(b"a"), NOW)
            house.log.append(plain(b"b"), NOW)
        if start < 3:
            getattr(house, end)()
    return house


@ENDINGS
@pytest.mark.parametrize("config", [{}, SMALL, {"segment.bytes": "100"}], ids=["one segment", "several", "each"])
def test_each_start_leads_in_a_later_epoch_that_its_batches_carry(tmp_path, end, config):
    """KIP-101: by two, as Kafka counts the loss of the only leader and its return; a start that writes nothing, too."""
    house = lived(tmp_path, end, **config)
    assert (house.log.leader_epoch, led(house.log)) == (6, BATCHES)
    assert list(house.log.epochs()) == HISTORY
    ends = [house.log.end_of_epoch(epoch) for epoch in (0, 1, 2, 4, 6, 7)]
    assert ends == [EpochEnd(0, 2), EpochEnd(0, 2), EpochEnd(2, 4), EpochEnd(2, 4), EpochEnd(6, 6), UNDEFINED]
    getattr(house, end)()


@pytest.mark.parametrize("suffix", [".index", ".snapshot"])
def test_the_epoch_history_is_rebuilt_from_batches_without_a_checkpoint(tmp_path, suffix):
    """What lies beside the log can always be made again."""
    lived(tmp_path, "stop", **SMALL).stop()
    leave_logs_alone(tmp_path, suffix)
    house = DataDirectoryHarness(tmp_path)
    assert list(house.log.epochs()) == [*HISTORY, EpochStart(8, 6)]
    assert led(house.log) == BATCHES
    house.stop()


def test_a_topic_begins_in_epoch_0_whenever_it_is_made(tmp_path):
    """As in Kafka."""
    lived(tmp_path).crash()
    house = DataDirectoryHarness(tmp_path)
    house.topics.create("young", 1, {})
    assert house.topics.partition("young", 0).log.leader_epoch == 0
    house.stop()
    house = DataDirectoryHarness(tmp_path)
    epochs = [house.topics.partition(name, 0).log.leader_epoch for name in (TOPIC, "young")]
    assert epochs == [10, 2]
    house.stop()


def test_a_marker_of_an_older_coordinator_is_known_after_a_restart(tmp_path):
    """COR-10, BRK-08: its epoch is part of what a partition knows of a producer."""
    house = DataDirectoryHarness(tmp_path)
    writer = Writer(house.log, 7)
    writer.send(b"a")
    writer.commit(coordinator_epoch=4)
    house.crash()
    for _ in range(2):
        house = DataDirectoryHarness(tmp_path)
        assert house.log.producers()[7].coordinator_epoch == 4
        house.stop()


@pytest.mark.parametrize("count", [1, 2])
def test_batches_of_a_future_epoch_are_refused_without_truncation(tmp_path, count):
    """An old count of starts beside newer logs, however few batches show it; everything stays as it was."""
    lived(tmp_path).crash()
    path = data_file(tmp_path)
    if count == 1:
        with path.open("r+b") as file:
            file.truncate(path.stat().st_size * 5 // 6)
    counted = read_checked(tmp_path / "incarnation").decode()
    (tmp_path / "incarnation").write_text(counted.replace("number=4", "number=2"))
    assert counted.startswith("number=4\n")
    with refused_start(tmp_path, r"leader epoch 6 .*no torn last write"):
        DataDirectoryHarness(tmp_path)


def test_a_start_counter_older_than_a_topic_is_refused(tmp_path):
    """Parts of a directory that are from different copies."""
    DataDirectoryHarness(tmp_path).crash()
    (tmp_path / "incarnation").unlink()
    with refused_start(tmp_path, "is older than topic flights"):
        DataDirectoryHarness(tmp_path)
    (tmp_path / "incarnation").write_text("many")
    with pytest.raises(DamagedDataError, match="incarnation: cannot be read"):
        DataDirectoryHarness(tmp_path)


def test_a_damaged_leader_epoch_is_found_without_a_checksum(tmp_path):
    """Epochs never go back, none is later than that of now."""
    lived(tmp_path).crash()
    path = data_file(tmp_path)
    good, size = path.read_bytes(), path.stat().st_size // 6
    for number, epoch in itertools.product(range(5), (7, 2**31 - 1, -1)):
        changed = bytearray(good)
        changed[number * size + 12 : number * size + 16] = epoch.to_bytes(4, signed=True)
        path.write_bytes(changed)
        with pytest.raises(DamagedDataError, match=f"damaged at byte {number * size}"):
            DataDirectoryHarness(tmp_path)
