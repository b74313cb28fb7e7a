"""What a crash is drawn from: each change, under the name that its file has at that moment."""

from __future__ import annotations

from contextlib import closing

import pytest

from eosfw_memory.faults.recorded_disk import RecordingSystem
from eosfw_memory.storage.files.disk import DataFile


@pytest.fixture
def system(tmp_path):
    made = RecordingSystem()
    made.adopt(tmp_path)
    return made


def test_a_file_is_recorded_by_its_new_name_once_it_was_renamed(system, tmp_path):
    """Its number stays, so that what was written before counts for it, too."""
    with closing(DataFile(tmp_path / "log.tmp")) as file:
        system.write(file.descriptor(), [b"a"], 0)
        system.rename(tmp_path / "log.tmp", tmp_path / "log")
        system.write(file.descriptor(), [b"b"], 1)

    assert [(step.kind, step.name, step.file) for step in system.steps] == [
        ("create", "log.tmp", 0),
        ("write", "log.tmp", 0),
        ("rename", "log", 0),
        ("write", "log", 0),
    ]


def test_a_file_in_the_place_of_a_removed_one_is_another_one(system, tmp_path):
    """A file system may give it the same inode."""
    for content in (b"old", b"new"):
        with closing(DataFile(tmp_path / "log")) as file:
            system.write(file.descriptor(), [content], 0)
        if content == b"old":
            system.remove(tmp_path / "log")

    assert [step.file for step in system.steps if step.kind in ("create", "write")] == [0, 0, 1, 1]


def test_a_directory_is_confirmed_with_files_that_nothing_has_written_to(system, tmp_path):
    (tmp_path / "b").touch()
    (tmp_path / "a").touch()

    system.sync_directory(tmp_path)

    assert [(step.kind, step.name) for step in system.steps] == [("create", "a"), ("create", "b"), ("sync folder", "")]
