"""The connector `http` keeps the contract of connectors, with each way to page."""

import pytest
from tests.http_api.served_api import ServedApi, served

from eosfw_http.connector import HttpSourceConnector
from pytest_eos.contracts import Source, SourceConnectorContract

SINCE = {"incremental.path": "changed", "incremental.parameter": "since"}
MORE = {"records.path": "data.rows", "cursor.path": "next", "page.size": 4, "value.converter": "json"}


class TestHttp(SourceConnectorContract):
    @pytest.fixture(params=["page", "cursor", "since"])
    def source(self, request):
        """HTP-01: runs, kills and zombies neither lose nor repeat a record."""
        paging = {"paging": "page", **SINCE} if request.param == "since" else {"paging": request.param}
        with served(ServedApi([{"id": one, "changed": one // 6} for one in range(22)])) as api:
            yield Source(HttpSourceConnector, {"url": api.url, **paging, **MORE})
