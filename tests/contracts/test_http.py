"""The connector `http` keeps the contract of connectors, with each way to page."""

import pytest

from pytest_eos.contracts import SourceConnectorContract

from .sources import SourceWithoutKillsContract, api_rows


class TestHttp(SourceConnectorContract):
    @pytest.fixture
    def source(self):
        """HTP-01: runs, kills and zombies neither lose nor repeat a record; its offsets have a page and a time."""
        yield from api_rows("since")


class TestPaging(SourceWithoutKillsContract):
    @pytest.fixture(params=["page", "cursor"])
    def source(self, request):
        yield from api_rows(request.param)
