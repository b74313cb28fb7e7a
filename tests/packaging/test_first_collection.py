"""What many processes would each compile is compiled once, before them."""

from __future__ import annotations

import sys

import pytest

from first_collection import collected_once, is_new


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "new"
    folder.mkdir()
    (folder / "test_one.py").write_text("def test_one():\n    assert True\n")
    return folder


def test_a_new_folder_is_collected_beside_the_block_and_only_once(folder, monkeypatch):
    """Workers that start behind the block find the rewritten assertions."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    assert is_new(folder)

    with collected_once([str(folder)], "not nightly"):
        """Here a Kafka starts."""

    assert not is_new(folder)


def test_a_folder_without_tests_is_never_new(tmp_path):
    """An argument may be a module, or one test of it: nothing is worth a process."""
    assert not is_new(tmp_path)
    assert not is_new(tmp_path / "test_one.py::test_one")
