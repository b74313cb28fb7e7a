"""Rotated files are known by their names, and told apart by their age."""

from __future__ import annotations

import os

import pytest

from eosfw_file.files.rotated_files import belongs_to_another, is_rotated, rotated_files


@pytest.mark.parametrize(
    ("name", "rotated"),
    [
        ("app.log.1", True),
        ("app.log.12.gz", True),
        ("app.log-20261125", True),
        ("app.log-20261125.zst", True),
        ("app.log.2026-11-25T10:00", True),
        ("app-2026-11-25.log", True),
        ("app.2026-11-25.3.log.gz", True),
        ("app.log.old", True),
        ("app.log", False),
        ("app-errors.log", False),
        ("app.log.swp", False),
        ("app2.log", False),
        ("app.log.gz", False),
        ("other.log.1", False),
    ],
)
def test_rotated_files_are_known_by_a_number_or_a_date(name, rotated):
    """FIL-11."""
    assert is_rotated(name, "app.log") is rotated
    assert belongs_to_another(name, {"app.log", name}) is rotated


def test_of_files_that_changed_in_one_tick_the_greater_number_is_the_older(tmp_path):
    """FIL-11: some file systems count in milliseconds."""
    names = ["app.log.10.gz", "app.log.9", "app.log.1", "app.log-20260101", "app.log-20260102"]
    for name in names:
        (tmp_path / name).touch()
        os.utime(tmp_path / name, ns=(0, 0))

    assert [os.path.basename(path) for path, *_ in rotated_files(str(tmp_path / "app.log"))] == names
