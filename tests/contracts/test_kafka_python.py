"""The kafka-python client keeps every contract, on the embedded broker as on a real Kafka."""

import pytest

from eosfw.builtin.isolation import ReadCommitted, ReadUncommitted
from eosfw.builtin.offset_store import KafkaOffsetStore
from eosfw.concurrency import ThreadRuntime
from eosfw_kafka_python.backend import KafkaPythonBackend
from pytest_eos.contracts import BackendContract, FencerContract, IsolationReaderContract, OffsetStoreContract


class TestKafkaPython(BackendContract, FencerContract, IsolationReaderContract, OffsetStoreContract):
    @pytest.fixture
    def backend(self, cluster):
        return KafkaPythonBackend.connect({"bootstrap.servers": cluster.bootstrap_servers}, ThreadRuntime())

    @pytest.fixture(params=[ReadCommitted, ReadUncommitted])
    def reader_class(self, request):
        return request.param

    @pytest.fixture
    def store(self):
        return KafkaOffsetStore()
