"""The connector `postgres` keeps the contract of connectors, whoever ends its transactions."""

import pytest
from tests.postgres.workloads import CHANGES, ends_of, make_changes

from eosfw_postgres.connector import PostgresConnector
from pytest_eos.contracts import Source, SourceConnectorContract, TransactionBoundariesContract


class TestPolls(SourceConnectorContract):
    @pytest.fixture
    def source(self, postgres_server, session):
        properties = make_changes(session) | postgres_server.properties
        return Source(PostgresConnector, properties | {"transaction.boundary": "poll"}, most=CHANGES)


class TestTransactions(TransactionBoundariesContract):
    @pytest.fixture
    def source(self, postgres_server, session):
        properties = make_changes(session) | postgres_server.properties
        ends = ends_of(session)
        return Source(PostgresConnector, properties, CHANGES, lambda record: dict(record.source_offset) in ends)
