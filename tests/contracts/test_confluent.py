"""The confluent client keeps every contract, on the embedded broker as on a real Kafka."""

import pytest

from eosfw.builtin.isolation import ReadCommitted, ReadUncommitted
from eosfw.builtin.offset_store import KafkaOffsetStore
from eosfw.concurrency import ThreadRuntime
from eosfw_confluent.backend import ConfluentBackend
from pytest_eos.contracts import BackendContract, FencerContract, IsolationReaderContract, OffsetStoreContract


class TestConfluent(BackendContract, FencerContract, IsolationReaderContract, OffsetStoreContract):
    @pytest.fixture
    def backend(self, cluster):
        return ConfluentBackend.connect({"bootstrap.servers": cluster.bootstrap_servers}, ThreadRuntime())

    @pytest.fixture(params=[ReadCommitted, ReadUncommitted])
    def reader_class(self, request):
        return request.param

    @pytest.fixture
    def store(self):
        return KafkaOffsetStore()
