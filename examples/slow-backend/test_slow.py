"""The slow backend keeps every promise of a backend, and zombies are shut out over it."""

import pytest
from eosfw_slow import SlowBackend

from eosfw.builtin.isolation import ReadCommitted
from eosfw.concurrency import ThreadRuntime
from pytest_eos import contracts


class TestSlow(contracts.BackendContract, contracts.FencerContract, contracts.IsolationReaderContract):
    @pytest.fixture
    def backend(self, eos_cluster):
        return SlowBackend.connect({**eos_cluster.client, "slow.latency.ms": "2"}, ThreadRuntime())

    @pytest.fixture
    def reader_class(self):
        return ReadCommitted


@pytest.mark.eos_backend("slow")
@pytest.mark.eos_zombie(at=["init-producer", "send-offsets", "commit"])
def test_a_zombie_over_it_adds_nothing(eos, tmp_path):
    (tmp_path / "lines.txt").write_text("".join(f"line {number}\n" for number in range(30)))

    run = eos.run("file", {"file": f"{tmp_path}/lines.txt", "batch.size": 5})

    eos.assert_exactly_once(run, run.source_records())
