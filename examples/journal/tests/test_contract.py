"""The connector keeps every promise of a source connector, and ends transactions where the journal does."""

import pytest
from books import BOOKED, ROLLED_BACK
from pytest_eos.contracts import Source, TransactionBoundariesContract

from eosfw_journal import JournalConnector

LAST = [changes[-1].encode() for changes in [*BOOKED, ROLLED_BACK]]


class TestJournal(TransactionBoundariesContract):
    @pytest.fixture
    def source(self, properties: dict[str, object]) -> Source:
        return Source(JournalConnector, properties, transaction_ends=lambda record: record.value in LAST)
