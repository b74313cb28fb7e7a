"""Kafka's FileStreamSource keeps the contract of connectors."""

import pytest

from eosfw_file.connector import FileStreamSourceConnector
from pytest_eos.contracts import Source, SourceConnectorContract


class TestFileStreamSource(SourceConnectorContract):
    @pytest.fixture
    def source(self, tmp_path):
        (tmp_path / "lines.txt").write_text("".join(f"line {number}\n" for number in range(60)))
        return Source(FileStreamSourceConnector, {"file": tmp_path / "lines.txt", "batch.size": 5})
