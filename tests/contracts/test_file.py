"""The file connector keeps the contract of connectors, whatever the format, compressed or not."""

import gzip

import pytest
from tests.file.samples import COLUMNS, table, text

from eosfw_file.connector import FileSourceConnector
from pytest_eos.contracts import Source, SourceConnectorContract


def files(kind, folder):
    """Two files of one kind, read in batches of five records."""
    form = {"gzip": "csv", "follow": "lines"}.get(kind, kind)
    for name, first in (("a", 0), ("b", 1000)):
        data = table(form, first) if form in COLUMNS else text(form, first)
        (folder / f"{name}.txt").write_bytes(gzip.compress(data) if kind == "gzip" else data)
    more = {"value.converter": "json"} if form in COLUMNS else {}
    more |= {"rotation": "follow"} if kind == "follow" else {}
    return Source(FileSourceConnector, {"file": f"{folder}/*.txt", "format": form, "batch.size": 5} | more)


class TestFile(SourceConnectorContract):
    """One kind for each way to say where a task resumes: lines, rows of columns, files that may be replaced."""

    @pytest.fixture(params=["lines", "parquet", "follow"])
    def source(self, request, tmp_path):
        return files(request.param, tmp_path)


class TestFormats(SourceConnectorContract):
    """A format decides what a record is, so kills and zombies at every step would find what they found above."""

    test_a_worker_killed_at_any_step_loses_and_repeats_nothing = None
    test_a_zombie_adds_nothing_and_takes_nothing = None

    @pytest.fixture(params=["csv", "jsonl", "gzip", "arrow"])
    def source(self, request, tmp_path):
        return files(request.param, tmp_path)
