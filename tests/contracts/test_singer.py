"""The connector `singer` keeps the contract of connectors, whoever ends its transactions."""

import pytest
from tests.singer.reading import properties, rows_file

from eosfw_singer.connector import SingerSourceConnector
from pytest_eos.contracts import Source, SourceConnectorContract, TransactionBoundariesContract

JSON = {"key.converter": "json", "value.converter": "json"}
ROWS = [("orders", number, f"2024-01-0{number // 8 + 1}") for number in range(20)]


class TestPolls(SourceConnectorContract):
    @pytest.fixture
    def source(self, tmp_path):
        """SNG-01."""
        given = properties({"rows": rows_file(tmp_path / "rows", ROWS), "state_every": 3}, batch_max_rows=5)
        return Source(SingerSourceConnector, given | {"transaction.boundary": "poll"} | JSON)


class TestStates(TransactionBoundariesContract):
    @pytest.fixture
    def source(self, tmp_path):
        """SNG-01."""
        given = properties({"rows": rows_file(tmp_path / "rows", ROWS), "state_every": 8}, batch_max_rows=5)
        return Source(SingerSourceConnector, given | JSON, transaction_ends=ends)


def ends(record):
    return record.source_offset["rows"] == 0
