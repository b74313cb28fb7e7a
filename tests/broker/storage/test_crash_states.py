"""With `--flush=fsync` a machine crash keeps every acknowledged write and blocks no reader.

A sample of the states that `benchmarks/crash_states.py` looks at.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from random import Random

import pytest

from eosfw_memory.faults.recorded_disk import Volume
from eosfw_memory.storage.files.disk import Disk

from .crash_check import Verdicts, lived


@pytest.fixture(autouse=True)
def quiet():
    """Silence the log of hundreds of starts."""
    logging.disable(logging.WARNING)
    yield
    logging.disable(logging.NOTSET)


def explored(root, seed, every, *, subsets=3, enough=1 << 30) -> Verdicts:
    run, found = lived(root / str(seed), seed), Verdicts()
    try:
        found.explore(run, Random(seed), subsets, every, enough)
    finally:
        with suppress(Exception):
            run.end()
    return found


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.nightly) for seed in range(2, 12))])
def test_a_machine_crash_keeps_acknowledged_writes_and_blocks_no_reader(tmp_path, seed):
    """KIP-98: commits, aborts, group offsets, plain records, topics, with and without KIP-890's epochs."""
    found = explored(tmp_path, seed, every=15)
    assert found.bad == []
    assert found.states > 150


def test_a_second_crash_during_recovery_changes_nothing(tmp_path):
    """What the first start cut off, ended or made anew may be on the disk in any part."""
    run, found = lived(tmp_path / "data", 3), Verdicts()
    found.again(run, Random(3), every=180, subsets=1)
    run.end()
    assert found.bad == []
    assert found.states > 50


def test_the_recorder_captures_every_change_of_a_run(tmp_path):
    """Every change went through the recorder: made again from its steps alone, the directory is the same."""
    run = lived(root := tmp_path / "data", 1)
    volume = Volume()
    for step in run.recorder.steps:
        volume.take(step)
    there = {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}
    assert {name: data for name, data in there.items() if name != ".lock"} == volume.state().files
    run.end()


# --- planted bugs


def sync_no_names(monkeypatch):
    """A segment whose name is not on the disk is gone with all that is in it."""
    monkeypatch.setattr(Disk, "sync_directory", lambda self, path: None)  # noqa: ARG005


def acknowledge_at_once(monkeypatch):
    """An answer does not wait for the disk."""
    after_fsync = "eosfw_memory.storage.files.group_fsync.GroupFsync.after_fsync"
    monkeypatch.setattr(after_fsync, lambda self, serve, acknowledges: serve())  # noqa: ARG005


@pytest.mark.parametrize("plant", [sync_no_names, acknowledge_at_once])
def test_crash_exploration_finds_a_planted_bug(tmp_path, monkeypatch, plant):
    """A test of the test; `benchmarks/crash_states.py --bug` and `benchmarks/mutants.py` plant more."""
    plant(monkeypatch)
    found = []
    for seed, every in ((1, 7), (2, 5), (1, 3), (1, 1)):
        found = explored(tmp_path / str(every), seed, every, enough=1).bad
        if found:
            break
    assert found
