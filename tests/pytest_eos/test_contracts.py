"""Our own parts are the first customers of the contracts."""

from __future__ import annotations

import pytest
from tests.pytest_eos.counter import CounterConnector

from eosfw.builtin.isolation import ReadCommitted, ReadUncommitted
from eosfw.builtin.offset_store import KafkaOffsetStore
from pytest_eos import contracts
from pytest_eos.clusters import runtime
from pytest_eos.installed import installed


class TestCounter(contracts.SourceConnectorContract):
    @pytest.fixture
    def source(self):
        return contracts.Source(CounterConnector, {"streams": 3, "until": 12, "batch": 3})


class TestFile(contracts.SourceConnectorContract):
    @pytest.fixture
    def source(self, tmp_path):
        for name in ("a", "b"):
            (tmp_path / f"{name}.txt").write_text("".join(f"{name} {number}\n" for number in range(30)))
        properties = {"file": f"{tmp_path}/*.txt", "batch.size": 5}
        return contracts.Source(type(installed().connector("file")), properties)


class TestKafkaOffsetStore(contracts.OffsetStoreContract):
    @pytest.fixture
    def store(self):
        return KafkaOffsetStore()


class OnCluster:
    @pytest.fixture(params=["memory", "confluent"])
    def backend(self, request, cluster):
        return installed().backend(request.param).connect({"bootstrap.servers": cluster.bootstrap_servers}, runtime())


class TestBackends(OnCluster, contracts.BackendContract):
    pass


class TestFencers(OnCluster, contracts.FencerContract):
    pass


class TestReaders(OnCluster, contracts.IsolationReaderContract):
    @pytest.fixture(params=[ReadCommitted, ReadUncommitted])
    def reader_class(self, request):
        return request.param
