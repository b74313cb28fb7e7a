"""Wrong bytes in the small files of a data directory are refused, file by file; none is believed."""

from __future__ import annotations

from contextlib import suppress
from random import Random

import pytest

from eosfw.errors import ConfigError, DamagedDataError
from eosfw_memory.faults.rules import DAMAGED_FILES, DAMAGES
from eosfw_memory.faults.wrong_bytes import damage
from eosfw_memory.storage.files.checksum_line import read_checked
from eosfw_memory.storage.files.disk import Disk, OperatingSystem
from eosfw_memory.storage.files.meta_properties import META, cluster_id

from ..log.log_harness import Writer
from .data_directory_harness import NODE, DataDirectoryHarness, bits, files, old_blocks, refused_start, zeros

FILES = (
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


@harms
def test_wrong_bytes_never_give_the_cluster_another_id(root, harm):
    """In `meta.properties` lines may stand that nobody reads, as in Kafka's."""
    path, before = root / META, files(root)
    content, disk = path.read_bytes(), Disk(root, OperatingSystem(), waits=False)
    known = cluster_id(disk, NODE)
    for changed in harm(content):
        path.write_bytes(changed)
        with suppress(DamagedDataError, ConfigError):
            assert cluster_id(disk, NODE) == known
    path.write_bytes(content)
    assert files(root) == before


@pytest.mark.parametrize("how", DAMAGES)
@pytest.mark.parametrize("file", DAMAGED_FILES)
def test_the_fault_damages_one_file_and_restores_it(root, file, how):
    """`wrong-bytes`, of each kind of file."""
    before = files(root)

    done = damage(root, file, how, Random(3))

    changed = [root / name for name, digest in files(root).items() if digest != before[name]]
    assert changed == [done.path]
    assert file in (done.path.name, done.path.suffix[1:])
    done.undo()
    assert files(root) == before


def test_files_without_a_checksum_are_taken(root):
    """Earlier versions wrote none, nor does who repairs a file by hand."""
    for name in (*FILES, META):
        (root / name).write_bytes(read_checked(root / name))
    house = DataDirectoryHarness(root)
    assert house.log.log_start_offset == 11
    assert house.log.first_dirty_offset == 10
    house.stop()
