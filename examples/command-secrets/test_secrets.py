"""The provider keeps every promise of a config provider, and its values reach a task."""

import json
import sys

import pytest
from eosfw_secrets import CommandConfigProvider

from eosfw.errors import ConfigError
from pytest_eos import contracts

VALUES = {"file": "orders-7f3a.txt", "password": "s3cret-91c2"}
PROGRAM = """
import json, sys
path, key = sys.argv[1:]
print(json.load(open(__file__ + ".json"))[path][key])
"""


@pytest.fixture
def command(tmp_path):
    """A program that knows two secrets."""
    program = tmp_path / "read-secret.py"
    program.write_text(PROGRAM)
    (tmp_path / "read-secret.py.json").write_text(json.dumps({"team/db": VALUES}))
    return f"{sys.executable} {program}"


class TestSecrets(contracts.ConfigProviderContract):
    @pytest.fixture
    def provided(self, command):
        return contracts.ProvidedValues(CommandConfigProvider, VALUES, "team/db", {"command": command})


def test_a_connector_gets_its_values_from_the_program(eos, command, tmp_path):
    (tmp_path / VALUES["file"]).write_text("one\ntwo\n")
    given = {"secrets.class": "command", "secrets.param.command": command}
    secrets = {f"config_providers_{name.replace('.', '_')}": text for name, text in given.items()}
    secrets["config_providers"] = "secrets"

    run = eos.run("file", {"file": f"{tmp_path}/${{secrets:team/db:file}}"}, worker=eos.worker(**secrets))

    assert run.values() == [b"one", b"two"]
    with pytest.raises(ConfigError, match=r"file: config provider 'secrets': its program ended with exit code 1"):
        eos.run("file", {"file": f"{tmp_path}/${{secrets:team/db:none}}"}, worker=eos.worker(**secrets))
