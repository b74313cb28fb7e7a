"""The deliberate bugs of `benchmarks/mutants.toml` can still be planted."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_each_deliberate_bug_still_has_one_place_and_folders_with_tests(monkeypatch):
    """A change that moves or rewrites the place of one must mend `mutants.toml`: else that bug is tried no more."""
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    mutants = importlib.import_module("mutants")
    every, modules = mutants.every_mutant(), mutants.modules_of(ROOT)

    for one in every:
        assert mutants.place_of(modules, one)
        assert one.new != one.old
        assert [folder for folder in one.tests if not (ROOT / folder).exists()] == []
    assert [one.number for one in every] == list(range(1, len(every) + 1))


def test_a_bug_without_a_place_is_named(monkeypatch):
    """A test of the test."""
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    mutants = importlib.import_module("mutants")
    lost = mutants.Mutant(number=7, bug="", old="no such code", new="", tests=["tests"])

    with pytest.raises(mutants.ContenderError, match="mutant 7 must fit in one place, it fits nowhere"):
        mutants.place_of({ROOT / "a.py": "code"}, lost)
