"""The file connector keeps the contract of connectors, whatever the format, compressed or not."""

import gzip

import pytest
from tests.file.samples import COLUMNS, LINES, table, text

from eosfw_file.connector import FileSourceConnector
from pytest_eos.contracts import Source, SourceConnectorContract


class TestFile(SourceConnectorContract):
    @pytest.fixture(params=[*LINES, "gzip", "follow", *COLUMNS])
    def source(self, request, tmp_path):
        form = {"gzip": "csv", "follow": "lines"}.get(request.param, request.param)
        for name, first in (("a", 0), ("b", 1000)):
            data = table(form, first) if form in COLUMNS else text(form, first)
            (tmp_path / f"{name}.txt").write_bytes(gzip.compress(data) if request.param == "gzip" else data)
        more = {"value.converter": "json"} if form in COLUMNS else {}
        more |= {"rotation": "follow"} if request.param == "follow" else {}
        return Source(FileSourceConnector, {"file": f"{tmp_path}/*.txt", "format": form, "batch.size": 5} | more)
