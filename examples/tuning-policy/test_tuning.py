"""The policy keeps every promise, and a worker asks it."""

import pytest
from eosfw_tuning import TuningPolicy

from eosfw.errors import ConfigError
from pytest_eos import contracts


class TestTuning(contracts.ClientConfigOverridePolicyContract):
    @pytest.fixture
    def judged(self):
        return contracts.JudgedOverrides(
            TuningPolicy,
            allowed={"linger.ms": "20", "batch.size": "500000"},
            refused={"acks": "canary", "sasl.password": "canary"},
            properties={"batch.bytes": "500000"},
        )


def test_a_worker_asks_the_policy_before_a_connector_starts(eos, tmp_path):
    (tmp_path / "lines.txt").write_text("one\ntwo\n")
    eos.worker(connector_client_config_override_policy="tuning")
    file = {"file": f"{tmp_path}/lines.txt"}

    with pytest.raises(ConfigError, match=r"producer\.override\.batch\.size: the policy 'tuning' allows"):
        eos.run("file", {**file, "producer.override.batch.size": 10_000_000})
    run = eos.run("file", {**file, "producer.override.batch.size": 900_000})

    eos.assert_exactly_once(run, run.source_records())
