"""The connector `sql` keeps the contract of connectors, by numbers, by timestamps, by both with a query."""

import pytest

from pytest_eos.contracts import SourceConnectorContract

from .sources import SourceWithoutKillsContract, orders


class TestSql(SourceConnectorContract):
    @pytest.fixture
    def source(self, tmp_path):
        """SQL-01: runs, kills and zombies neither lose nor repeat a row; its offsets have both parts."""
        return orders("timestamp+incrementing", tmp_path)


class TestModes(SourceWithoutKillsContract):
    @pytest.fixture(params=["incrementing", "timestamp"])
    def source(self, request, tmp_path):
        return orders(request.param, tmp_path)
