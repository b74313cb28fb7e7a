"""The memory client keeps every contract: by direct calls, over a socket, on a real Kafka."""

import pytest

from eosfw.builtin.isolation import ReadCommitted, ReadUncommitted
from eosfw.builtin.offset_store import KafkaOffsetStore
from eosfw.waiting import ThreadRuntime
from eosfw_memory.client.backend import MemoryBackend
from pytest_eos.contracts import BackendContract, FencerContract, IsolationReaderContract, OffsetStoreContract


class TestMemory(BackendContract, FencerContract, IsolationReaderContract, OffsetStoreContract):
    @pytest.fixture(params=["direct", "socket", pytest.param("kafka", marks=pytest.mark.kafka)])
    def backend(self, request):
        where, how = ("real_kafka", "socket") if request.param == "kafka" else ("embedded", request.param)
        client = {"bootstrap.servers": request.getfixturevalue(where), "eosfw.transport": how}
        return MemoryBackend.connect(client, ThreadRuntime())

    @pytest.fixture(params=[ReadCommitted, ReadUncommitted])
    def reader_class(self, request):
        return request.param

    @pytest.fixture
    def store(self):
        return KafkaOffsetStore()
