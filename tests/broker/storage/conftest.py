"""Offer a compacted log on disk."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .compaction import RULES
from .kit import House


@pytest.fixture
def house(tmp_path) -> Iterator[House]:
    made = House(tmp_path, **RULES)
    yield made
    made.stop()
