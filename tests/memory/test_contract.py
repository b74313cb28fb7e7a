"""Hold the memory backend to what every backend must do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from eosfw.waiting import Runtime
from eosfw_memory.client.backend import MemoryBackend
from pytest_eos.contracts import BackendContract

if TYPE_CHECKING:
    from memory.conftest import Reached


class TestMemoryBackend(BackendContract):
    """By direct calls, over a socket, against a real Kafka."""

    @pytest.fixture
    def backend(self, cluster: Reached, runtime: Runtime) -> MemoryBackend:
        """A client over each transport."""
        return cluster.backend(runtime)
