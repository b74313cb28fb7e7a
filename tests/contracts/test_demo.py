"""The demo's flights keep the contract of connectors, as the demo splits them."""

import pytest

from eosfw_demo.flights import read_flights, split
from eosfw_file.connector import FileSourceConnector
from pytest_eos.contracts import Source

from .sources import SourceWithoutKillsContract


class TestFlights(SourceWithoutKillsContract):
    @pytest.fixture
    def source(self, tmp_path):
        header, lines = read_flights()
        split(header, lines[:120], tmp_path, 4)
        properties = {"file": f"{tmp_path}/*.csv", "format": "csv", "value": "raw", "batch.size": 10}
        return Source(FileSourceConnector, properties)
