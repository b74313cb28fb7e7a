"""Hold the confluent backend to what every backend must do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from eosfw.waiting import Runtime
from eosfw_confluent.backend import ConfluentBackend
from kip98.contract import BackendContract

if TYPE_CHECKING:
    from conftest import Cluster


class TestConfluentBackend(BackendContract):
    """On each cluster there is."""

    @pytest.fixture
    def backend(self, cluster: Cluster, runtime: Runtime) -> ConfluentBackend:
        """A client of it."""
        return ConfluentBackend.connect({"bootstrap.servers": cluster.bootstrap_servers}, runtime)
