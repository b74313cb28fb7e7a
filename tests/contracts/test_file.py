"""The file connector keeps the contract of connectors, whatever the format, compressed or not."""

import pytest

from pytest_eos.contracts import SourceConnectorContract

from .sources import SourceWithoutKillsContract, files


class TestFile(SourceConnectorContract):
    """One kind for each way to say where a task resumes: lines, rows of columns, files that may be replaced."""

    @pytest.fixture(params=["lines", "parquet", "follow"])
    def source(self, request, tmp_path):
        return files(request.param, tmp_path)


class TestFormats(SourceWithoutKillsContract):
    @pytest.fixture(params=["csv", "jsonl", "gzip", "arrow"])
    def source(self, request, tmp_path):
        return files(request.param, tmp_path)
