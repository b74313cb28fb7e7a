"""The connector `http` keeps the contract of connectors, with each way to page."""

import pytest
from tests.http_api.served_api import ServedApi, served

from eosfw_http.connector import HttpSourceConnector
from pytest_eos.contracts import Source, SourceConnectorContract

SINCE = {"incremental.path": "changed", "incremental.parameter": "since"}
MORE = {"records.path": "data.rows", "cursor.path": "next", "page.size": 4, "value.converter": "json"}


def rows(paging):
    """A served API whose rows come in pages."""
    given = {"paging": "page", **SINCE} if paging == "since" else {"paging": paging}
    with served(ServedApi([{"id": one, "changed": one // 6} for one in range(22)])) as api:
        yield Source(HttpSourceConnector, {"url": api.url, **given, **MORE})


class TestHttp(SourceConnectorContract):
    """The way whose offsets have a page and a time."""

    @pytest.fixture
    def source(self):
        """HTP-01: runs, kills and zombies neither lose nor repeat a record."""
        yield from rows("since")


class TestPaging(SourceConnectorContract):
    """The other ways; kills and zombies at every step would find what they found above."""

    test_a_worker_killed_at_any_step_loses_and_repeats_nothing = None
    test_a_zombie_adds_nothing_and_takes_nothing = None

    @pytest.fixture(params=["page", "cursor"])
    def source(self, request):
        yield from rows(request.param)
