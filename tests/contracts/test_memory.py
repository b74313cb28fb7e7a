"""The memory client keeps every contract: by direct calls, over a socket, on a real Kafka, in both versions."""

import pytest

from eosfw.builtin.isolation import ReadCommitted, ReadUncommitted
from eosfw.builtin.offset_store import KafkaOffsetStore
from eosfw.concurrency import ThreadRuntime
from eosfw_memory.client.backend import MemoryBackend
from pytest_eos.contracts import BackendContract, FencerContract, IsolationReaderContract, OffsetStoreContract


class TestMemory(BackendContract, FencerContract, IsolationReaderContract, OffsetStoreContract):
    @pytest.fixture(params=["embedded", "embedded socket 1", pytest.param("real_kafka", marks=pytest.mark.kafka)])
    def backend(self, request):
        where, how, version = [*request.param.split(), "auto", "auto"][:3]
        client = {"bootstrap.servers": request.getfixturevalue(where), "eosfw.transport": how}
        return MemoryBackend.connect({**client, "eosfw.transaction.version": version}, ThreadRuntime())

    @pytest.fixture(params=[ReadCommitted, ReadUncommitted])
    def reader_class(self, request):
        return request.param

    @pytest.fixture
    def store(self):
        return KafkaOffsetStore()
