"""Replay of the files is the live state, under every order of events."""

from __future__ import annotations

import itertools
import shutil
import tempfile
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule
from tests.effort import EFFORTS, run_machine

from eosfw_memory.storage.files.segments.file_log_storage import FileLogStorage

from ..log.test_log_machine import PartitionMachine
from .data_directory_harness import SMALL, DataDirectoryHarness, log_facts


class StoredPartitionMachine(PartitionMachine):
    """The machine of the log in memory, on files of a few batches each, with restarts at any time."""

    config: ClassVar[dict[str, str]] = SMALL

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp(prefix="eosfw-"))
        self.house = DataDirectoryHarness(self.root, **self.config)
        self.log = self.reader.log = self.house.log

    @rule(clean=st.booleans(), without=st.sets(st.sampled_from([".index", ".snapshot"])))
    def restart(self, clean, without):
        before = log_facts(self.log)
        self.house.stop() if clean else self.house.crash()
        for path in [path for path in self.root.rglob("*") if path.suffix in without]:
            path.unlink()
        self.house = DataDirectoryHarness(self.root)
        self.log = self.reader.log = self.house.log
        assert log_facts(self.log) == before

    @invariant()
    def segments_follow_each_other(self):
        sealed = self.log.rolled_segments()
        assert all(one.end_offset == other.base_offset for one, other in itertools.pairwise(sealed))

    def teardown(self):
        self.house.crash()
        shutil.rmtree(self.root)


class CheckpointedPartitionMachine(StoredPartitionMachine):
    """The machine with one segment and a checkpoint after every second batch."""

    config: ClassVar[dict[str, str]] = {}

    def __init__(self) -> None:
        FileLogStorage.checkpoint_bytes, self.usual = 150, FileLogStorage.checkpoint_bytes
        super().__init__()

    def teardown(self):
        FileLogStorage.checkpoint_bytes = self.usual
        super().teardown()


@EFFORTS
@pytest.mark.parametrize("machine", [StoredPartitionMachine, CheckpointedPartitionMachine])
def test_a_restarted_partition_agrees_with_its_model_in_any_order(machine, effort):
    """BRK-02, BRK-08: producers with their five batches, open and aborted transactions, offsets, bytes."""
    run_machine(machine, 12 * effort)
