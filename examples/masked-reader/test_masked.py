"""The masked reader keeps every promise of a reader of committed records, and shows no field that it masks."""

import json

import pytest
from eosfw_masked import MaskedReader

from eosfw.errors import ConfigError
from pytest_eos import contracts

FIELDS = MaskedReader.config.parse({"fields": "email"})


class TestMasked(contracts.IsolationReaderContract):
    @pytest.fixture
    def reader_class(self):
        return MaskedReader

    @pytest.fixture
    def committed_only(self):
        return True

    @pytest.fixture
    def reader(self, backend, eos):
        reader = MaskedReader.over(backend, eos.runtime)
        reader.configure(FIELDS)
        yield reader
        reader.close()


@pytest.mark.eos_zombie(at=["send", "commit"])
def test_a_zombie_adds_nothing_that_the_reader_shows(eos, tmp_path):
    people = [{"id": number, "email": f"{number}@example.org"} for number in range(30)]
    (tmp_path / "people.jsonl").write_text("".join(json.dumps(one) + "\n" for one in people))
    eos.worker(isolation_reader="masked", isolation_reader_fields="email")

    run = eos.run("file", {"file": f"{tmp_path}/people.jsonl", "format": "jsonl", "batch.size": 5})

    eos.assert_exactly_once(run, range(30), key="field:id")
    assert {json.loads(value)["email"] for value in run.values()} == {"***"}


def test_a_field_that_is_misspelt_in_the_properties_is_no_mask(eos):
    with pytest.raises(ConfigError, match=r"did you mean 'isolation\.reader\.fields'\?"):
        eos.run("file", {}, worker=eos.worker(isolation_reader="masked", isolation_reader_field="email"))
