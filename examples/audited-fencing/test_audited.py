"""The audited fencer keeps every promise of a fencer, and leaves a record of each id."""

import json

import pytest
from eosfw_audited import AuditedFencer

from pytest_eos import contracts


class TestAudited(contracts.FencerContract):
    @pytest.fixture
    def backend(self, eos):
        return eos.backend

    @pytest.fixture
    def fencer(self, backend, eos):
        fencer = AuditedFencer.connect(backend, {}, eos.runtime)
        yield fencer
        fencer.close()


@pytest.mark.eos_zombie(at=["start-task", "send", "commit"])
def test_a_zombie_is_fenced_and_its_fencing_is_on_record(eos, tmp_path):
    for name in ("a", "b"):  # two tasks: a lone one has the id of its successor, so nobody else fences it
        (tmp_path / f"{name}.txt").write_text("".join(f"{name} {number}\n" for number in range(20)))
    group = eos.worker(fencer="audited", fencer_topic="audit")

    run = eos.run("file", {"file": f"{tmp_path}/*.txt", "batch.size": 5})

    eos.assert_exactly_once(run, run.source_records())
    told = [json.loads(value) for value in eos.topic("audit").values()]
    assert {one["transactional.id"]: one["outcome"] for one in told} == {
        f"{group.name}-file-0": "fenced",
        f"{group.name}-file-1": "fenced",
    }
