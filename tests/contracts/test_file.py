"""The file connector keeps the contract of connectors, whatever the format, compressed or not."""

import gzip

import pytest

from eosfw_file.connector import FileSourceConnector
from pytest_eos.contracts import Source, SourceConnectorContract

LINES = {"lines": "line {0}\n", "csv": "{0},x\n", "jsonl": '{{"n": {0}}}\n'}


class TestFile(SourceConnectorContract):
    @pytest.fixture(params=[*LINES, "gzip"])
    def source(self, request, tmp_path):
        form = "csv" if request.param == "gzip" else request.param
        for name, first in (("a", 0), ("b", 1000)):
            lines = "".join(LINES[form].format(number) for number in range(first, first + 30))
            text = (("n,m\n" if form == "csv" else "") + lines).encode()
            (tmp_path / f"{name}.txt").write_bytes(gzip.compress(text) if request.param == "gzip" else text)
        return Source(FileSourceConnector, {"file": f"{tmp_path}/*.txt", "format": form, "batch.size": 5})
