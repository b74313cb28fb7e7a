"""The framework's own parts keep their contracts."""

import pytest

from eosfw.builtin.isolation import ReadCommitted, ReadUncommitted
from eosfw.builtin.offset_store import KafkaOffsetStore
from pytest_eos.contracts import IsolationReaderContract, OffsetStoreContract


class TestKafkaOffsetStore(OffsetStoreContract):
    @pytest.fixture
    def store(self):
        return KafkaOffsetStore()


class TestReaders(IsolationReaderContract):
    @pytest.fixture(params=[ReadCommitted, ReadUncommitted])
    def reader_class(self, request):
        return request.param
