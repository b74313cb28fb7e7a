"""Offer a compacted log on disk."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .compaction import RULES
from .data_directory_harness import DataDirectoryHarness


@pytest.fixture
def house(tmp_path) -> Iterator[DataDirectoryHarness]:
    made = DataDirectoryHarness(tmp_path, **RULES)
    yield made
    made.stop()
