"""The connector keeps every promise of a source connector."""

import pytest
from pytest_eos.contracts import Source, SourceConnectorContract

from eosfw_counter import CounterConnector


class TestCounter(SourceConnectorContract):
    @pytest.fixture
    def source(self) -> Source:
        return Source(CounterConnector, {"streams": 3, "until": 12, "batch.size": 4})
