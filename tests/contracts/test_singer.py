"""The connector `singer` keeps the contract of connectors, whoever ends its transactions."""

import pytest
from tests.singer.reading import contract_properties

from eosfw_singer.connector import SingerSourceConnector
from pytest_eos.contracts import Source, SourceConnectorContract, TransactionBoundariesContract


class TestPolls(SourceConnectorContract):
    @pytest.fixture
    def source(self, tmp_path):
        """SNG-01."""
        properties = contract_properties(tmp_path, state_every=3)
        return Source(SingerSourceConnector, properties | {"transaction.boundary": "poll"})


class TestStates(TransactionBoundariesContract):
    @pytest.fixture
    def source(self, tmp_path):
        """SNG-01."""
        properties = contract_properties(tmp_path, state_every=8)
        return Source(SingerSourceConnector, properties, 200, lambda record: record.source_offset["rows"] == 0)
