"""Wrong bytes in the files of a data directory are refused, file by file; none is believed."""

from __future__ import annotations

from random import Random

import pytest

from eosfw.concurrency import ThreadRuntime
from eosfw.errors import DamagedDataError
from eosfw_memory.cluster import EmbeddedCluster
from eosfw_memory.common.log_errors import CorruptMessageError
from eosfw_memory.faults.rules import DAMAGED_FILES, DAMAGES
from eosfw_memory.faults.wrong_bytes import damage
from eosfw_memory.storage.files.checksum_line import read_checked

from ..brokers import durable_transactions, started
from ..log.log_harness import Writer
from .data_directory_harness import (
    SMALL,
    DataDirectoryHarness,
    bits,
    data_file,
    files,
    flip,
    log_facts,
    old_blocks,
    refused_start,
    zeros,
)

FILES = (
    "meta.properties",
    "incarnation",
    "producer-ids",
    "topics.json",
    "log-start-offset-checkpoint",
    "cleaner-offset-checkpoint",
)


@pytest.fixture
def root(tmp_path):
    """A directory that has each of the files."""
    house = DataDirectoryHarness(tmp_path, **{"retention.ms": "604800000"})
    writer = Writer(house.log, 1)
    for number in range(12):
        writer.send(b"%d" % number, transactional=False)
    house.log.delete_before(11)
    house.log.mark_cleaned(10)
    house.stop()
    return tmp_path


harms = pytest.mark.parametrize("harm", [bits, zeros, old_blocks])


@harms
@pytest.mark.parametrize("name", FILES)
def test_wrong_bytes_in_a_small_file_are_refused(root, name, harm):
    """At any place, with the file's path; what was restored is taken."""
    path = root / name
    content = path.read_bytes()
    for changed in harm(content):
        if changed != content:
            path.write_bytes(changed)
            with refused_start(root, f"{path}: "):
                DataDirectoryHarness(root)
    path.write_bytes(content)
    house = DataDirectoryHarness(root)
    assert house.log.log_start_offset == 11
    house.stop()


@pytest.mark.parametrize("how", DAMAGES)
@pytest.mark.parametrize("file", DAMAGED_FILES)
def test_the_fault_damages_one_file_and_restores_it(root, file, how):
    """`wrong-bytes`, of each kind of file."""
    house = DataDirectoryHarness(root)
    house.topics.create("more", 1, {})
    house.crash()
    before = files(root)

    done = damage(root, file, how, Random(3))

    changed = [root / name for name, digest in files(root).items() if digest != before[name]]
    assert changed == [done.path]
    assert file in (done.path.name, done.path.suffix[1:])
    done.undo()
    assert files(root) == before


def write_some(house: DataDirectoryHarness, number: int) -> None:
    """Records of transactions that are committed, aborted and left open, a topic, offsets in the checkpoints."""
    writer = Writer(house.log, 10 + number)
    for each in range(3):
        writer.send(b"%d" % each)
    [writer.commit, writer.abort, lambda: None][number % 3]()
    house.topics.create(f"t{number}", 1, {"retention.ms": str(number)})
    house.log.delete_before(number)
    house.log.mark_cleaned(number)


def everything(house: DataDirectoryHarness) -> tuple[object, ...]:
    """All that a broker knows of its directory, read from there."""
    listed = {topic.name: (topic.topic_id, topic.config) for topic in house.topics}
    return log_facts(house.log), listed, house.storage.cluster_id, house.log.first_dirty_offset


@pytest.mark.parametrize("seed", range(4))
def test_wrong_bytes_lose_nothing_in_silence(tmp_path, seed):
    """In whatever file: everything is there, or the file is refused at the start or by a reader."""
    random, refused = Random(seed), 0
    house = DataDirectoryHarness(tmp_path, **SMALL)
    for number in range(30):
        write_some(house, number)
        before = everything(house)
        house.stop() if random.random() < 0.3 else house.crash()
        file, how = random.choice(DAMAGED_FILES), random.choice(DAMAGES)
        done = damage(tmp_path, file, how, random)
        house = None
        try:
            house = DataDirectoryHarness(tmp_path)
            assert everything(house) == before, (file, how)
        except (DamagedDataError, CorruptMessageError) as why:
            assert str(done.path) in str(why)  # noqa: PT017 - it may pass, too
            if house is not None:
                house.crash()
            done.undo()
            house = DataDirectoryHarness(tmp_path)
            refused += 1
        assert everything(house) == before
    house.stop()
    assert refused > 5


@pytest.mark.parametrize("ids", [2, 30], ids=["newest segment", "older segment"])
def test_a_start_refuses_a_damaged_log_of_transactions_by_its_file(tmp_path, ids):
    """An older segment has an index, so the start reads it for the coordinator alone."""
    broker = started(tmp_path, {"transaction.state.log.num.partitions": "1"})
    own = broker.transaction_log()
    broker.topics.alter(own, {**own.config, "internal.segment.bytes": "1000"})
    for number in range(ids):
        broker.coordinator.initialise(f"id-{number}", 60_000, None, broker.now_ms())
    before = durable_transactions(broker)
    broker.halt()
    broker.storage.disk.failed = "killed"
    broker.close()
    path = data_file(tmp_path, topic=own.name)
    flip(path, 65)

    with pytest.raises(DamagedDataError, match=rf"{path}: .*restore the file from a copy"):
        EmbeddedCluster.start({"listeners": "", "log.dirs": str(tmp_path)}, ThreadRuntime())

    flip(path, 65)
    broker = started(tmp_path)
    assert durable_transactions(broker) == before
    broker.close()


def test_files_without_a_checksum_are_taken(root):
    """Earlier versions wrote none, nor does who repairs a file by hand."""
    for name in FILES:
        (root / name).write_bytes(read_checked(root / name))
    house = DataDirectoryHarness(root)
    assert house.log.log_start_offset == 11
    assert house.log.first_dirty_offset == 10
    house.stop()
