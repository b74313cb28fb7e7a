"""A log in memory with one producer."""

from __future__ import annotations

import pytest

from eosfw_memory.storage.log.partition_log import PartitionLog

from .log_harness import Writer, new_log


@pytest.fixture
def log() -> PartitionLog:
    return new_log()


@pytest.fixture
def writer(log: PartitionLog) -> Writer:
    return Writer(log, 7)
