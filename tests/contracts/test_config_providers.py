"""The framework's own config providers keep their contract."""

import pytest

from eosfw.builtin.config_providers import DirectoryConfigProvider, EnvVarConfigProvider, FileConfigProvider
from pytest_eos.contracts import ConfigProviderContract, ProvidedValues

VALUES = {"user": "alice-7f3a", "password": "s3cret-91c2"}


class TestConfigProviders(ConfigProviderContract):
    @pytest.fixture(params=[FileConfigProvider, DirectoryConfigProvider, EnvVarConfigProvider])
    def provided(self, request, tmp_path, monkeypatch):
        for key, value in VALUES.items():
            (tmp_path / key).write_text(value)
            monkeypatch.setenv(key, value)
        file = tmp_path / "db.properties"
        file.write_text("".join(f"{key}={value}\n" for key, value in VALUES.items()))
        settings = {"allowlist.pattern": "user|password"}
        if request.param is EnvVarConfigProvider:
            return ProvidedValues(request.param, VALUES, "", settings)
        path = file if request.param is FileConfigProvider else tmp_path
        return ProvidedValues(request.param, VALUES, str(path), {"allowed.paths": str(tmp_path)})
