"""Hold the confluent backend to what every backend must do."""

from __future__ import annotations

import pytest

from eosfw_confluent.fencer import ConfluentFencer
from kip98.contract import BackendContract
from kip98.lab import Lab


class TestConfluentBackend(BackendContract):
    """On each cluster there is."""

    @pytest.fixture
    def fencer(self, lab: Lab) -> ConfluentFencer:
        """A fencer over the same backend."""
        return ConfluentFencer.connect(lab.backend, {}, lab.runtime)
