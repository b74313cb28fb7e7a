"""The file connector keeps the contract of connectors, whatever the format."""

import pytest

from eosfw_file.connector import FileSourceConnector
from pytest_eos.contracts import Source, SourceConnectorContract

LINES = {"lines": "line {0}\n", "csv": "{0},x\n", "jsonl": '{{"n": {0}}}\n'}


class TestFile(SourceConnectorContract):
    @pytest.fixture(params=LINES)
    def source(self, request, tmp_path):
        for name, first in (("a", 0), ("b", 1000)):
            lines = "".join(LINES[request.param].format(number) for number in range(first, first + 30))
            (tmp_path / f"{name}.txt").write_text("n,m\n" * (request.param == "csv") + lines)
        return Source(FileSourceConnector, {"file": f"{tmp_path}/*.txt", "format": request.param, "batch.size": 5})
