"""Broken metadata of one distribution is named, and hides no other."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from eosfw.distributions import installed_entry_points

GOOD = "[eosfw]\none = os.path\n"


@pytest.fixture
def site(tmp_path, monkeypatch) -> Path:
    """A folder of installed distributions, the only one."""
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    return tmp_path


def install(site: Path, name: str, installed_entry_points: bytes = GOOD.encode(), metadata: str | None = "") -> None:
    info = site / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir()
    (info / "entry_points.txt").write_bytes(installed_entry_points)
    if metadata is not None:
        (info / "METADATA").write_text(metadata or f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")


@pytest.mark.parametrize("broken", [b"[eosfw\nno bracket", b"one = os.path", b"[eosfw]\n\xff\xfe = x"])
def test_unreadable_entry_points_are_named_and_others_are_loaded(site, broken) -> None:
    install(site, "a-broken", broken)
    install(site, "good")

    found, unreadable = installed_entry_points("eosfw")

    assert [(entry_point.name, *entry_point.dist) for entry_point in found] == [("one", "good", "1.0")]
    assert "a-broken" not in [entry_point.dist.name for entry_point in found]
    assert {one.name for one in unreadable} <= {"a-broken"}


def test_entry_points_in_no_known_encoding_are_a_named_fault(site) -> None:
    install(site, "a-broken", b"[eosfw]\n\xff\xfe = x")

    assert [one.name for one in installed_entry_points("eosfw")[1]] == ["a-broken"]


@pytest.mark.parametrize("metadata", [None, "nonsense", "Name: \n"])
def test_a_distribution_without_usable_metadata_still_has_a_name_and_its_parts(site, metadata) -> None:
    install(site, "half-there", metadata=metadata)

    (entry_point,) = installed_entry_points("eosfw")[0]

    assert entry_point.dist == ("half-there", "?")
    assert entry_point.load().__name__.endswith("path")


def test_the_first_of_two_installed_copies_of_a_distribution_counts(site, monkeypatch) -> None:
    install(site, "twice")
    later = site / "later"
    later.mkdir()
    install(later, "twice")
    monkeypatch.setattr(sys, "path", [str(site), str(later)])

    assert len(installed_entry_points("eosfw")[0]) == 1
